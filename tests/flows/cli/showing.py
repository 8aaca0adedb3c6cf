"""A terminal that remembers, and a turn to show on it."""

from __future__ import annotations

import io
import os
from typing import Any

from pydantic_ai.usage import RunUsage
from turngraph.flows.cli.console import ConsoleSink
from turngraph.nodes import events as ev
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.slots import CallStatus

from .emulator import shown as on_screen


class Screen(io.StringIO):
    """Remembers what was written to a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def ended(answer: str = "done", **changes: Any) -> ev.TurnEnded:
    facts: dict[str, Any] = {
        "outcome": Outcome.COMPLETED,
        "turn_id": "t",
        "session_id": "s",
        "request_id": "r",
        "flow": "standard",
        "model": "m",
        "answer": answer,
        "error": None,
        "iterations": 1,
        "usage": RunUsage(input_tokens=10, output_tokens=2),
        "cost": None,
        "duration_ms": 5,
        "edited_files": (),
    }
    return ev.TurnEnded(TurnResult(**facts | changes))


GREP = ev.ToolFinished("c", "grep", CallStatus.OK, {"pattern": "TODO", "path": "src"}, "a\nb\n", 4, 34)
CALLED = ev.ToolCalled("c", "grep", {"pattern": "TODO", "path": "src"}, "read_only")
TURN: list[ev.Event] = [
    ev.NodeEntered("stream", 2, 0, "assistant"),
    ev.ThinkingDelta("hm"),
    ev.TextDelta("I "),
    ev.TextDelta("look."),
    ev.NodeEntered("dispatch", 3, 1, "tool_execution"),
    CALLED,
    GREP,
    ev.NodeEntered("stream", 5, 1, "assistant"),
    ev.TextDelta("do"),
    ev.TextDelta("ne"),
    ev.NodeEntered("process_node", 6, 2, "assistant"),
    ended(),
]
SUMMARY = "completed · 1 iteration · 10 tokens in, 2 out · 5 ms\n"


async def shown(
    events: list[ev.Event], out: io.StringIO | None = None, err: io.StringIO | None = None, **how: Any
) -> tuple[str, str]:
    out, err = out or io.StringIO(), err or io.StringIO()
    sink = ConsoleSink(out, err, **how)
    for event in events:
        await sink.emit(event)
    first, second = (_seen(stream) for stream in (out, err))
    return first, second


def _seen(stream: io.StringIO) -> str:
    written = stream.getvalue()
    return on_screen(written, int(os.environ["COLUMNS"])) if isinstance(stream, Screen) else written
