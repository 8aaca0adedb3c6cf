from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.toolsets import FunctionToolset
from turngraph.nodes import Execute, Persist
from turngraph.nodes.dispatch import Dispatch, batches
from turngraph.nodes.errors import TurnAborted
from turngraph.nodes.events import ApprovalAsked, ToolCalled, ToolFinished
from turngraph.nodes.slots import CallStatus, Slot
from turngraph.tools.effects import Effect, declare
from turngraph.tools.policy import Abort, Allow, CallRequest, Decision, ReadOnly, Refuse

from .acting import Scene, reading, writing

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> int:
    return n


def write(n: int = 0) -> int:
    return n


def asks(n: int = 0) -> int:
    return n


def scene_of(*calls: ToolCallPart, text: str = "", policy: Any = None) -> Scene:
    asking = FunctionToolset[Any](metadata=declare(Effect.READ_ONLY))
    asking.add_function(asks, requires_approval=True)
    undeclared = FunctionToolset[Any]([pulled_in])
    scene = Scene(None, reading(look), writing(write), asking, undeclared, policy=policy)
    texts = [TextPart(text)] if text else []
    scene.replied(ModelResponse(parts=[*texts, *calls]))
    return scene


def pulled_in() -> str:
    return "from elsewhere"


class ByName:
    """Decides by the tool's name, and keeps what it was asked."""

    def __init__(self, **decisions: Decision) -> None:
        self.requests: list[CallRequest] = []
        self._decisions = decisions

    def asks(self, request: CallRequest) -> bool:
        return request.tool_name in self._decisions

    async def decide(self, request: CallRequest) -> Decision:
        self.requests.append(request)
        return self._decisions.get(request.tool_name, Allow())


def statuses(scene: Scene) -> list[CallStatus | None]:
    return [slot.status for slot in scene.state.session.tool_registry.slots]


async def test_reading_comes_first_side_by_side_then_the_others_one_by_one() -> None:
    names = ["write", "look", "pulled_in", "look", "write"]
    scene = scene_of(*[ToolCallPart(name, {}, f"c{n}") for n, name in enumerate(names)])
    assert isinstance(await Dispatch().run(scene.ctx), Execute)
    assert scene.state.batches == [[1, 3], [0], [2], [4]]
    slots = scene.state.session.tool_registry.slots
    assert [slot.effect for slot in slots] == ["write", "read_only", "execute", "read_only", "write"]
    assert [slot.approved for slot in slots] == [True, False, True, False, True]
    assert all(slot.open for slot in slots)


@pytest.mark.parametrize(
    ("effects", "expected"),
    [([], []), (["read_only"], [[0]]), (["write"], [[0]]), (["execute", "read_only", "write"], [[1], [0], [2]])],
)
def test_batches(effects: Sequence[str], expected: list[list[int]]) -> None:
    slots = [Slot(n, ToolCallPart("t", {}), effect=Effect(effect)) for n, effect in enumerate(effects)]
    assert batches(slots) == expected


async def test_a_refusal_is_the_result_and_the_rest_runs() -> None:
    policy = ByName(write=Refuse("not today"))
    scene = scene_of(ToolCallPart("write", {}, "a"), ToolCallPart("look", {}, "b"), policy=policy)
    assert isinstance(await Dispatch().run(scene.ctx), Execute)
    slots = scene.state.session.tool_registry.slots
    assert statuses(scene) == [CallStatus.REFUSED, None]
    assert slots[0].result is not None
    assert slots[0].result.content == "Refused: not today."
    assert (scene.state.refused, scene.state.batches, slots[0].approved) == (True, [[1]], False)


async def test_all_refused_leaves_nothing_to_run() -> None:
    scene = scene_of(ToolCallPart("write", {}, "a"), ToolCallPart("asks", {}, "b"), policy=ReadOnly())
    assert isinstance(await Dispatch().run(scene.ctx), Persist)
    assert (statuses(scene), scene.state.batches) == ([CallStatus.REFUSED] * 2, [])


async def test_a_later_reply_without_a_refusal_clears_the_mark() -> None:
    scene = scene_of(ToolCallPart("look", {}, "a"))
    scene.state.refused = True
    await Dispatch().run(scene.ctx)
    assert not scene.state.refused


async def test_an_abort_ends_the_turn_before_anything_ran() -> None:
    scene = scene_of(
        *[ToolCallPart(name, {}, name) for name in ("look", "write", "pulled_in")], policy=ByName(write=Abort())
    )
    with pytest.raises(TurnAborted, match="write"):
        await Dispatch().run(scene.ctx)
    assert statuses(scene) == [None, None, None]
    assert not any(slot.started for slot in scene.state.session.tool_registry.slots)


async def test_every_call_of_a_reply_is_announced_before_the_first_question() -> None:
    scene = scene_of(*[ToolCallPart(name, {}, name) for name in ("write", "look")], policy=ByName(write=Abort()))
    with pytest.raises(TurnAborted):
        await Dispatch().run(scene.ctx)
    assert [type(event) for event in scene.memory.events] == [ToolCalled, ToolCalled, ApprovalAsked]


async def test_a_tool_that_wants_approval_is_asked_about_although_it_only_reads() -> None:
    policy = ByName(asks=Allow())
    scene = scene_of(ToolCallPart("asks", {"n": 1}, "a"), policy=policy)
    await Dispatch().run(scene.ctx)
    assert policy.requests == [CallRequest("a", "asks", {"n": 1}, Effect.READ_ONLY, requires_approval=True)]
    assert ApprovalAsked("a", "asks", {"n": 1}) in scene.memory.events
    assert scene.state.session.tool_registry.slots[0].approved


@pytest.mark.parametrize(
    "call", [ToolCallPart("nothing", {}, "a"), ToolCallPart("look", {"n": "x"}, "a"), ToolCallPart("look", "[", "a")]
)
async def test_a_call_that_cannot_run_is_not_asked_about(call: ToolCallPart) -> None:
    policy = ByName()
    scene = scene_of(call, policy=policy)
    assert isinstance(await Dispatch().run(scene.ctx), Persist)
    assert (policy.requests, statuses(scene)) == ([], [CallStatus.ERROR])
    assert [type(event) for event in scene.memory.events] == [ToolCalled, ToolFinished]


@pytest.mark.parametrize(("name", "args"), [("nothing", "{}"), ("look", '{"n": "x"}')])
async def test_the_same_mistake_again_and_again_is_a_result_each_time(name: str, args: str) -> None:
    scene = scene_of()
    for number in range(1, 5):
        scene.replied(ModelResponse(parts=[ToolCallPart(name, args, f"c{number}")]))
        await Dispatch().run(scene.ctx)
        (slot,) = scene.state.session.tool_registry.slots
        assert slot.status is CallStatus.ERROR
        assert slot.result is not None
        said = slot.result.model_response_str()
        assert "look" in said if name == "nothing" else "integer" in said
        scene.state.session.tool_registry.slots.clear()


async def test_two_mistakes_in_one_reply_are_two_results() -> None:
    scene = scene_of(*[ToolCallPart("nothing", {}, f"c{n}") for n in range(3)])
    await Dispatch().run(scene.ctx)
    assert statuses(scene) == [CallStatus.ERROR] * 3


CALL = '<tool_call>{"name": "look", "arguments": {"n": 2}}</tool_call>'


async def test_a_call_in_the_text_becomes_a_call_of_the_reply() -> None:
    scene = scene_of(text=f"I will look.\n{CALL}")
    scene.state.unusable_replies = 2
    first = scene.state.reply_row
    assert isinstance(await Dispatch().run(scene.ctx), Execute)
    assert scene.state.reply is not None
    text, call = scene.state.reply.parts
    assert text == TextPart("I will look.")
    assert isinstance(call, ToolCallPart)
    assert (call.tool_name, call.args) == ("look", {"n": 2})
    assert (scene.state.task_completed, scene.state.unusable_replies) == (False, 0)
    assert scene.ledger.of("message")[-1] == (scene.state.reply, first)
    assert scene.state.reply_row != first


async def test_a_lone_surrogate_in_a_text_call_can_be_sent() -> None:
    scene = scene_of(text='<tool_call>{"name": "pulled_in", "arguments": {"\\udcff": ["\\udcff"]}}</tool_call>')
    await Dispatch().run(scene.ctx)
    assert scene.state.reply is not None
    scene.state.reply.tool_calls[0].args_as_json_str().encode()


async def test_text_beside_a_structured_call_is_not_searched() -> None:
    scene = scene_of(ToolCallPart("look", {}, "a"), text=CALL)
    await Dispatch().run(scene.ctx)
    assert len(scene.state.session.tool_registry.slots) == 1


async def test_text_that_holds_no_call_after_all_stays_the_answer() -> None:
    scene = scene_of(text="call `look` with {n}")
    reply = scene.state.reply
    assert isinstance(await Dispatch().run(scene.ctx), Persist)
    assert (scene.state.reply, scene.state.task_completed) == (reply, True)
    assert not scene.state.session.tool_registry.slots


async def test_text_that_only_looked_like_a_call_and_broke_off_is_asked_again() -> None:
    """Without a finish reason, an open call is no answer; with one, the provider's word counts."""
    broken = '<tool_call>{"name": "look", "arguments": {'
    for finish_reason, again in ((None, True), ("stop", False)):
        scene = scene_of(text=broken)
        assert scene.state.reply is not None
        scene.state.reply = replace(scene.state.reply, finish_reason=finish_reason)
        scene.state.answer = broken
        assert isinstance(await Dispatch().run(scene.ctx), Persist)
        assert scene.state.task_completed is not again
        assert (scene.state.guidance is not None) is again
