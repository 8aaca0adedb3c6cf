"""Turns as a runner would write them, for tests of what is read back; also the processes that write them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.usage import RunUsage
from turngraph.flows.store import Store, TurnHead, TurnWriter
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.slots import CallStatus, Slot


def head(session_id: str, turn_id: str = "turn-1", *, workdir: str = "/work", model: str = "test") -> TurnHead:
    return TurnHead(
        turn_id=turn_id,
        session_id=session_id,
        request_id=turn_id[:8],
        flow="standard",
        lineup={"stream": "turngraph.nodes.stream:Stream"},
        model=model,
        policy="Auto",
        workdir=workdir,
        instructions="be brief",
    )


def outcome_of(turn: TurnHead, outcome: Outcome = Outcome.COMPLETED) -> TurnResult:
    return TurnResult(
        outcome=outcome,
        turn_id=turn.turn_id,
        session_id=turn.session_id,
        request_id=turn.request_id,
        flow=turn.flow,
        model=turn.model,
        answer="done",
        error=None,
        iterations=1,
        usage=RunUsage(requests=1, input_tokens=3),
        cost=Decimal("0.0125"),
        duration_ms=5,
        edited_files=("a.txt",),
    )


def filled(position: int, call: ToolCallPart, content: Any = "fine", status: CallStatus = CallStatus.OK) -> Slot:
    slot = Slot(position, call, duration_ms=7, edited=["a.txt"])
    slot.fill(status, content)
    return slot


def said(content: str | Sequence[UserContent]) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(content)])


def answered(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def seal_all(log: TurnWriter, messages: Sequence[ModelMessage], iteration: int = 1) -> None:
    log.seal(iteration, [log.message(message) for message in messages])


def whole_turn(store: Store, session_id: str, turn_id: str = "turn-1", prompt: str = "hello") -> TurnResult:
    """One turn that says something and ends; what it ended with."""
    turn, asked = head(session_id, turn_id), said(prompt)
    with store.begin_turn(turn, asked) as log:
        seal_all(log, [asked, answered("done")])
        result = outcome_of(turn)
        log.end(result)
    return result


def texts_of(store: Store, session: str) -> list[Any]:
    parts = [part for message in store.load_messages(session).messages for part in message.parts]
    return [part.content for part in parts if isinstance(part, UserPromptPart | TextPart)]


def joined(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages with neighbouring requests as one; what a request of results was timed at is not compared."""
    whole: list[ModelMessage] = []
    for message in messages:
        if not isinstance(message, ModelRequest):
            whole.append(message)
            continue
        last = whole[-1] if whole else None
        before: Sequence[ModelRequestPart] = ()
        if isinstance(last, ModelRequest):
            before = last.parts
            whole.pop()
        if parts := [*before, *message.parts]:
            whole.append(replace(message, parts=parts, timestamp=None))
    return whole


def run_python(code: str, *args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _with_names(code), *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@contextmanager
def python_process(code: str, *args: str | Path) -> Generator[subprocess.Popen[str]]:
    """A process that runs `code` until it has printed its first line; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", _with_names(code), *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def _with_names(code: str) -> str:
    """The code, after the names of this module, which a process that has no `tests` on its path cannot import."""
    return f"exec(compile(open({__file__!r}).read(), {__file__!r}, 'exec'))\n{code}"
