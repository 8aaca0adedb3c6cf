from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry, ToolFailed, UnexpectedModelBehavior, UserError
from pydantic_ai.messages import BinaryContent, ToolCallPart, ToolReturn
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import FunctionToolset
from turngraph.nodes.errors import ProviderError, SinkError, StoreError, TurnAborted, UsageError
from turngraph.nodes.events import ApprovalAsked, Notice, ToolFinished, ToolProgress, ToolStarted
from turngraph.nodes.perform import ATTEMPTS, pause_before, perform
from turngraph.nodes.slots import CallStatus, Slot
from turngraph.tools.effects import Effect, declare
from turngraph.tools.policy import Abort, Allow, CallRequest, Decision, Refuse
from turngraph.tools.progress import report

from .acting import Ledger, Scene

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_pauses")]


def scene_of(function: Callable[..., Any], effect: Effect, **rest: Any) -> Scene:
    return Scene(None, FunctionToolset[Any]([function], metadata=declare(effect)), **rest)


async def played(scene: Scene, effect: Effect, args: dict[str, Any] | None = None, approved: bool = True) -> Slot:
    manager = await scene.deps.toolbox.manager(scene.state)
    (slot,) = scene.register(ToolCallPart("tool", args or {}, "id"), effect=effect)
    slot.approved = approved
    await perform(scene.state, scene.deps, manager, slot, anyio.CapacityLimiter(1))
    return slot


class Flaky:
    """A tool that fails so often, and then answers."""

    def __init__(self, failures: int, error: Callable[[], BaseException]) -> None:
        self.calls = 0
        self._failures = failures
        self._error = error

    async def tool(self) -> str:
        self.calls += 1
        if self.calls <= self._failures:
            raise self._error()
        return "at last"


class Strict(BaseModel):
    n: int


def validation_error() -> Exception:
    try:
        Strict.model_validate({})
    except ValueError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize("failures", [0, 1, 2, 3])
async def test_a_read_only_call_is_tried_three_times(failures: int) -> None:
    flaky = Flaky(failures, lambda: OSError("busy"))
    scene = scene_of(flaky.tool, Effect.READ_ONLY)
    slot = await played(scene, Effect.READ_ONLY)
    assert flaky.calls == min(failures + 1, ATTEMPTS)
    assert slot.status is (CallStatus.OK if failures < ATTEMPTS else CallStatus.ERROR)
    notices = [event.text for event in scene.memory.events if isinstance(event, Notice)]
    assert len(notices) == min(failures, ATTEMPTS - 1)
    assert all("tool failed (busy); trying again" in text for text in notices)
    assert len(scene.ledger.of("intent")) == len(scene.ledger.of("result")) == 1


@pytest.mark.parametrize("effect", [Effect.WRITE, Effect.EXECUTE])
async def test_any_other_call_runs_once(effect: Effect) -> None:
    """T4-16, T4-17: what may have had an effect is never run again by itself."""
    flaky = Flaky(1, lambda: TimeoutError("read timeout"))
    slot = await played(scene_of(flaky.tool, effect), effect)
    assert (flaky.calls, slot.status) == (1, CallStatus.ERROR)
    assert slot.result is not None
    assert "TimeoutError: read timeout" in slot.result.model_response_str()
    assert "outcome is unknown" in slot.result.model_response_str()


@pytest.mark.parametrize(
    "error",
    [
        lambda: ModelRetry("otherwise"),
        lambda: ToolFailed("no"),
        lambda: UnexpectedModelBehavior("odd"),
        lambda: UserError("wrong"),
        validation_error,
        lambda: SystemExit(3),
    ],
)
async def test_what_trying_again_cannot_mend_is_not_tried_again(error: Callable[[], BaseException]) -> None:
    flaky = Flaky(9, error)
    slot = await played(scene_of(flaky.tool, Effect.READ_ONLY), Effect.READ_ONLY)
    assert (flaky.calls, slot.status) == (1, CallStatus.ERROR)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (ValueError(), "ValueError"),
        (ModelRetry("use another path"), "use another path"),
        (ToolFailed("disk full"), "disk full"),
        (SystemExit(3), "tried to exit the program"),
        (ExceptionGroup("several", [ValueError("inner")]), "several"),
        (UsageError("no such model"), "no such model"),
        (ProviderError("HTTP 500"), "HTTP 500"),
        (StoreError("locked"), "locked"),
    ],
)
@pytest.mark.parametrize("sync", [True, False])
async def test_every_exception_of_a_tool_is_that_calls_result(error: BaseException, words: str, sync: bool) -> None:
    """T4-04: also one without words, which its type then stands for."""

    def tool() -> str:
        raise error

    async def tool_async() -> str:
        raise error

    tool_async.__name__ = "tool"
    slot = await played(scene_of(tool if sync else tool_async, Effect.WRITE), Effect.WRITE)
    assert slot.status is CallStatus.ERROR
    assert slot.result is not None
    assert words in slot.result.model_response_str()
    assert slot.row is not None


@pytest.mark.parametrize("how", ["raise", "cancel", "scope"])
async def test_a_tool_that_cancels_itself_has_a_result(how: str) -> None:
    async def tool() -> str:
        if how == "raise":
            raise asyncio.CancelledError
        if how == "cancel":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(1)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anyio.sleep(1)
        return "went on"

    slot = await played(scene_of(tool, Effect.WRITE), Effect.WRITE)
    assert slot.result is not None
    if how == "scope":
        assert slot.result.content == "went on"
    else:
        assert slot.status is CallStatus.ERROR
        assert "cancelled itself" in slot.result.model_response_str()
    await anyio.lowlevel.checkpoint()


async def test_a_cancel_from_outside_gets_out_and_leaves_the_slot_open() -> None:
    async def tool() -> str:
        scope.cancel()
        await anyio.sleep_forever()
        return "never"

    scene = scene_of(tool, Effect.WRITE)
    with anyio.CancelScope() as scope:
        await played(scene, Effect.WRITE)
    (slot,) = scene.state.session.tool_registry.slots
    assert (scope.cancelled_caught, slot.open, slot.started) == (True, True, True)


async def test_content_and_edited_files_of_a_return() -> None:
    image = BinaryContent.narrow_type(BinaryContent(b"png", media_type="image/png"))

    async def tool() -> ToolReturn:
        return ToolReturn(return_value={"n": 1}, content=[image], metadata={"edited": ["a.py"]})

    scene = scene_of(tool, Effect.WRITE)
    slot = await played(scene, Effect.WRITE)
    assert slot.result is not None
    assert slot.result.content == [{"n": 1}, image]
    assert scene.state.edited_files == slot.edited == ["a.py"]


async def test_the_intent_is_written_before_the_effect_and_the_result_after() -> None:
    seen: list[list[str]] = []

    async def tool() -> str:
        seen.append([kind for kind, _ in scene.ledger.rows])
        return "x"

    scene = scene_of(tool, Effect.WRITE)
    await played(scene, Effect.WRITE)
    assert seen == [["intent"]]
    assert [kind for kind, _ in scene.ledger.rows] == ["intent", "result"]
    assert [type(event) for event in scene.memory.events] == [ToolStarted, ToolFinished]


async def test_a_call_whose_intent_cannot_be_written_does_not_run() -> None:
    flaky = Flaky(0, lambda: OSError())
    scene = scene_of(flaky.tool, Effect.WRITE, ledger=Ledger(lambda number: True))
    with pytest.raises(StoreError):
        await played(scene, Effect.WRITE)
    (slot,) = scene.state.session.tool_registry.slots
    assert (flaky.calls, slot.started) == (0, False)


async def test_progress_reaches_the_sink_with_its_call() -> None:
    async def tool() -> str:
        await report("half")
        return "x"

    scene = scene_of(tool, Effect.WRITE)
    await played(scene, Effect.WRITE)
    assert ToolProgress("id", "tool", "half") in scene.memory.events


async def test_progress_that_cannot_be_shown_ends_the_turn() -> None:
    class Broken:
        async def emit(self, event: object) -> None:
            if isinstance(event, ToolProgress):
                raise SinkError("gone")

    async def tool() -> str:
        await report("half")
        return "x"

    with pytest.raises(SinkError):
        await played(scene_of(tool, Effect.WRITE, sink=Broken()), Effect.WRITE)


class Answers:
    """Gives one decision, and keeps what it was asked."""

    def __init__(self, decision: Decision) -> None:
        self.requests: list[CallRequest] = []
        self._decision = decision

    def asks(self, request: CallRequest) -> bool:
        return True

    async def decide(self, request: CallRequest) -> Decision:
        self.requests.append(request)
        return self._decision


async def asking(ctx: RunContext[Any], path: str) -> str:
    if not ctx.tool_call_approved:
        raise ApprovalRequired
    return f"read {path}"


asking.__name__ = "tool"


def scene_that_asks(policy: Answers) -> Scene:
    toolset = FunctionToolset[Any](metadata=declare(Effect.READ_ONLY))
    toolset.add_function(asking, takes_ctx=True, name="tool")
    return Scene(None, toolset, policy=policy)


async def test_a_tool_may_ask_while_it_runs_and_be_allowed() -> None:
    policy = Answers(Allow())
    scene = scene_that_asks(policy)
    slot = await played(scene, Effect.READ_ONLY, {"path": "a"}, approved=False)
    assert (slot.status, slot.result and slot.result.content) == (CallStatus.OK, "read a")
    (request,) = policy.requests
    assert (request.requires_approval, request.args) == (True, {"path": "a"})
    assert ApprovalAsked("id", "tool", {"path": "a"}) in scene.memory.events


async def test_a_tool_that_asks_while_it_runs_may_be_refused() -> None:
    policy = Answers(Refuse("not today"))
    scene = scene_that_asks(policy)
    slot = await played(scene, Effect.READ_ONLY, {"path": "a"}, approved=False)
    assert (slot.status, slot.result and slot.result.content) == (CallStatus.REFUSED, "Refused: not today.")
    assert scene.state.refused
    assert len(policy.requests) == 1


async def test_a_tool_that_asks_while_it_runs_may_end_the_turn() -> None:
    scene = scene_that_asks(Answers(Abort()))
    with pytest.raises(TurnAborted, match="tool"):
        await played(scene, Effect.READ_ONLY, {"path": "a"}, approved=False)


async def test_an_approved_call_is_not_asked_about_again() -> None:
    policy = Answers(Refuse("never"))
    slot = await played(scene_that_asks(policy), Effect.READ_ONLY, {"path": "a"}, approved=True)
    assert (slot.status, policy.requests) == (CallStatus.OK, [])


def test_pauses_double_up_to_five_seconds_with_a_tenth_more_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turngraph.nodes.perform.FIRST_PAUSE", 0.5)
    for attempt, base in [(2, 0.5), (3, 1.0), (4, 2.0), (5, 4.0), (6, 5.0), (20, 5.0)]:
        assert all(base <= pause_before(attempt) <= base * 1.1 for _ in range(20))
