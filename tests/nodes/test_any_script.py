"""Whatever a model says, whatever its tools do, wherever a turn is stopped: the stored history stays sendable."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.exceptions import ModelHTTPError, ModelRetry, ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from turngraph.flows.interrupt import Interrupt
from turngraph.flows.runner import run_turn
from turngraph.flows.store import Store
from turngraph.nodes import perform
from turngraph.nodes.deps import Limits
from turngraph.nodes.events import Event, ToolCalled, ToolFinished
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.tools.effects import Effect, declare
from turngraph.tools.policy import Abort, Allow, Auto, CallRequest, Decision, Policy, Refuse

from ..scripted.rules import violation


@dataclass(frozen=True)
class Said:
    """One reply of the model; it ends, breaks or hangs after its parts."""

    thought: str = ""
    text: str = ""
    calls: tuple[tuple[str, str, str | None], ...] = ()
    then: str = "end"


@dataclass(frozen=True)
class Stop:
    """Stop the turn at its n-th event: by its interrupt, by cancelling the task around it, or by a broken sink."""

    at: int
    how: Literal["interrupt", "cancel", "break"] = "interrupt"


@dataclass
class Stage:
    """One turn under test: what it emits, and the switch that stops it."""

    stop: Stop
    scope: anyio.CancelScope
    interrupt: Interrupt = field(default_factory=Interrupt)
    events: list[Event] = field(default_factory=list[Event])

    async def emit(self, event: Event) -> None:
        self.events.append(event)
        if len(self.events) == self.stop.at:
            if self.stop.how == "break":
                raise OSError("the screen is gone")
            self.halt()

    def halt(self) -> None:
        if self.stop.how == "cancel":
            self.scope.cancel()
        else:
            self.interrupt.fire()

    async def hang(self) -> None:
        self.halt()
        await anyio.sleep_forever()


def tools(stage: Stage) -> list[FunctionToolset[Any]]:
    reading = FunctionToolset[Any](metadata=declare(Effect.READ_ONLY))
    writing = FunctionToolset[Any](metadata=declare(Effect.WRITE))

    @reading.tool_plain
    async def look(n: int = 0) -> dict[str, int]:  # pyright: ignore[reportUnusedFunction]
        return {"n": n}

    @reading.tool_plain
    async def trip() -> str:  # pyright: ignore[reportUnusedFunction]
        raise OSError("tripped")

    @reading.tool_plain
    async def stare() -> str:  # pyright: ignore[reportUnusedFunction]
        await stage.hang()
        return "never"

    @writing.tool_plain
    async def write(n: int) -> bytes:  # pyright: ignore[reportUnusedFunction]
        return bytes([n % 256])

    @writing.tool_plain
    async def fail() -> str:  # pyright: ignore[reportUnusedFunction]
        raise ToolFailed("it cannot be")

    @writing.tool_plain
    async def again() -> str:  # pyright: ignore[reportUnusedFunction]
        raise ModelRetry("try another way")

    @writing.tool_plain
    async def wait() -> str:  # pyright: ignore[reportUnusedFunction]
        await stage.hang()
        return "never"

    return [reading, writing]


@dataclass
class Wary:
    """Allows what is harmless, and aborts the turn or refuses at anything else."""

    otherwise: Decision

    def asks(self, request: CallRequest) -> bool:
        return False

    async def decide(self, request: CallRequest) -> Decision:
        return Allow() if request.harmless else self.otherwise


def model(script: Sequence[Said], stage: Stage) -> FunctionModel:
    """Plays the script, then says `Done.`; every request it gets must obey the order rules."""
    replies = iter(script)

    async def play(messages: list[ModelMessage], info: AgentInfo) -> AsyncGenerator[Any]:
        assert violation(wire(messages)) is None
        said = next(replies, Said(text="Done."))
        yield ""
        if said.thought:
            yield {0: DeltaThinkingPart(content=said.thought)}
        for piece in (said.text[:2], said.text[2:]):
            if piece:
                yield piece
        for index, (name, arguments, given_id) in enumerate(said.calls, 1):
            yield {index: DeltaToolCall(name=name, json_args=arguments[:3], tool_call_id=given_id)}
            yield {index: DeltaToolCall(json_args=arguments[3:])}
        if said.then == "break":
            raise ModelHTTPError(500, "scripted")
        if said.then == "hang":
            await stage.hang()

    return FunctionModel(stream_function=play)


def wire(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """The messages as the OpenAI chat API would get them."""
    return [
        sent
        for message in messages
        for sent in ([_reply(message)] if isinstance(message, ModelResponse) else map(_request, message.parts))
    ]


def _reply(message: ModelResponse) -> dict[str, Any]:
    calls = [
        {"id": c.tool_call_id, "type": "function", "function": {"name": c.tool_name, "arguments": c.args_as_json_str()}}
        for c in message.tool_calls
    ]
    return {"role": "assistant", "content": message.text, "tool_calls": calls}


def _request(part: ModelRequestPart) -> dict[str, Any]:
    if isinstance(part, ToolReturnPart):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
    return {"role": "user", "content": part.part_kind}


NAMES = (*("look", "trip", "write", "fail", "again", "unknown") * 3, "stare", "wait")
ARGUMENTS = ("{}", '{"n": 1}', '{"n": "x"}', '{"n": ', "", "[]", "null")
CALL = st.tuples(st.sampled_from(NAMES), st.sampled_from(ARGUMENTS), st.sampled_from([None, "K", "K-1", ""]))
AS_TEXT = st.sampled_from(['<tool_call>{"name": "look", "arguments": {"n": 2}}</tool_call>', "`look` {", "\n"])
SAID = st.builds(
    Said,
    thought=st.just("") | st.text(max_size=5),
    text=st.just("") | AS_TEXT | st.text(max_size=8),
    calls=st.just(()) | st.lists(CALL, min_size=1, max_size=4).map(tuple),
    then=st.sampled_from([*["end"] * 8, "break", "hang"]),
)
STOP = st.builds(Stop, at=st.integers(1, 60) | st.just(10_000), how=st.sampled_from(["interrupt", "cancel", "break"]))
POLICY = st.sampled_from([Auto(), Auto(), Wary(Refuse("not today")), Wary(Abort())])


@pytest.fixture(scope="module", autouse=True)
def no_pauses() -> Generator[None]:
    """Retries come at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(perform, "FIRST_PAUSE", 0.0)
        yield


@settings(max_examples=200, deadline=None)
@given(script=st.lists(SAID, max_size=5), stop=STOP, policy=POLICY, limit=st.integers(1, 6))
def test_what_is_sealed_can_always_be_sent(script: list[Said], stop: Stop, policy: Policy, limit: int) -> None:
    anyio.run(_two_turns, script, stop, policy, limit)


async def _two_turns(script: list[Said], stop: Stop, policy: Policy, limit: int) -> None:
    with Store.in_memory() as store:
        session = store.create_session("somewhere")

        async def turn(script: Sequence[Said], stop: Stop, policy: Policy, limit: int) -> TurnResult | None:
            result: TurnResult | None = None
            stage = Stage(stop, anyio.CancelScope())
            with stage.scope:
                result = await run_turn(
                    "work",
                    model=model(script, stage),
                    toolsets=tools(stage),
                    sink=stage,
                    store=store,
                    session=session,
                    policy=policy,
                    limits=Limits(max_iterations=limit),
                    interrupt=stage.interrupt,
                )
            _assert_settled(stage)
            return result

        first = await turn(script, stop, policy, limit)
        hypothesis.event(f"outcome: {first and first.outcome}")
        if stop.how != "break":
            assert first is None or first.outcome is not Outcome.INTERNAL_ERROR, first
        sealed = store.load_messages(session)
        assert (violation(wire(sealed.messages)) if sealed.messages else None, sealed.skipped) == (None, 0)

        second = await turn([], Stop(at=-1), Auto(), 1)
        assert second is not None
        assert (second.outcome, second.answer, second.error) == (Outcome.COMPLETED, "Done.", None)
        after = store.load_messages(session).messages
        said = _parts(sealed.messages)
        assert _parts(after)[: len(said)] == said
        assert violation(wire(after)) is None


def _parts(messages: Sequence[ModelMessage]) -> list[Any]:
    return [part for message in messages for part in message.parts]


def _assert_settled(stage: Stage) -> None:
    """Each call that was announced has exactly one result; a sink that broke was not told of every call."""
    called = Counter(event.call_id for event in stage.events if isinstance(event, ToolCalled))
    finished = Counter(event.call_id for event in stage.events if isinstance(event, ToolFinished))
    assert called == finished or (stage.stop.how == "break" and called <= finished)
