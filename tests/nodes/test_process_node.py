from __future__ import annotations

from decimal import Decimal

import pytest
from pydantic_ai.messages import FinishReason, ModelResponse, ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage
from turngraph.nodes import Dispatch, Persist, ProcessNode
from turngraph.nodes.deps import Limits
from turngraph.nodes.errors import FlowError
from turngraph.nodes.events import Notice
from turngraph.nodes.guidance import CUT_OFF, EMPTY

from .acting import Actor, Scene, reading

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> int:
    return n


def scene_of(*parts: ModelResponsePart, reason: FinishReason | None = "stop", limits: Limits | None = None) -> Scene:
    scene = Scene(Actor(), reading(look), limits=limits)
    usage = RequestUsage(input_tokens=3, output_tokens=4)
    scene.replied(ModelResponse(parts=list(parts), finish_reason=reason, usage=usage, model_name="actor"))
    return scene


async def test_text_is_the_answer() -> None:
    scene = scene_of(ThinkingPart("hm"), TextPart(" Done. "))
    assert isinstance(await ProcessNode().run(scene.ctx), Persist)
    state = scene.state
    assert (state.task_completed, state.answer, state.guidance) == (True, "Done.", None)
    assert state.session.thoughts == ["hm"]
    assert state.reply is not None
    assert state.reply.parts == [TextPart(" Done. ")]


async def test_a_reply_is_written_again_only_where_it_was_changed() -> None:
    """Its row holds what the model said whole; what a later turn is sent of it, the loader knows."""
    scene = scene_of(ThinkingPart("hm"), TextPart("Done."))
    await ProcessNode().run(scene.ctx)
    assert (len(scene.ledger.of("message")), scene.state.reply_row) == (1, 1)

    scene = scene_of(ThinkingPart("hm"), TextPart("\ud800"))
    await ProcessNode().run(scene.ctx)
    (_, (written, replaces)) = scene.ledger.of("message")
    assert (scene.state.reply_row, replaces) == (2, 1)
    assert written.parts == [ThinkingPart("hm"), TextPart("\\ud800")]


async def test_a_reply_that_has_no_row_is_written() -> None:
    """A variant's stream node may leave that to this one."""
    scene = scene_of(TextPart("Done."))
    scene.state.reply_row = None
    await ProcessNode().run(scene.ctx)
    assert scene.ledger.of("message")[1:] == [(scene.state.reply, None)]
    assert scene.state.reply_row == 2


async def test_calls_go_to_dispatch_and_are_no_answer() -> None:
    scene = scene_of(TextPart("Let me look."), ToolCallPart("look", {}, "a"))
    scene.state.unusable_replies = 2
    assert isinstance(await ProcessNode().run(scene.ctx), Dispatch)
    assert (scene.state.task_completed, scene.state.unusable_replies) == (False, 0)


@pytest.mark.parametrize(
    "text", ['<tool_call>{"name": "look", "arguments": {}}</tool_call>', "the function {look}", "<function=look>"]
)
async def test_text_that_may_hold_a_call_goes_to_dispatch(text: str) -> None:
    """Until that has looked it is no answer: a turn that is stopped before has not given one."""
    scene = scene_of(TextPart(text))
    assert isinstance(await ProcessNode().run(scene.ctx), Dispatch)
    assert not scene.state.task_completed


@pytest.mark.parametrize("text", ["look there", "{nothing}", "Done."])
async def test_text_that_cannot_hold_a_call_does_not(text: str) -> None:
    assert isinstance(await ProcessNode().run(scene_of(TextPart(text)).ctx), Persist)


@pytest.mark.parametrize("parts", [(), (TextPart(" \n"),), (ThinkingPart("only"),), (ThinkingPart("", signature="s"),)])
async def test_a_reply_without_text_and_calls_is_asked_again(parts: tuple[ModelResponsePart, ...]) -> None:
    scene = scene_of(*parts)
    assert isinstance(await ProcessNode().run(scene.ctx), Persist)
    state = scene.state
    assert (state.task_completed, state.unusable_replies, state.guidance) == (False, 1, EMPTY)
    assert [event.level for event in scene.memory.events if isinstance(event, Notice)] == ["warning"]


@pytest.mark.parametrize(
    ("reason", "limits"),
    [("length", None), ("stop", Limits(max_tokens=4)), (None, None), ("tool_call", Limits(max_tokens=3))],
)
async def test_a_reply_that_was_cut_off_is_asked_again(reason: FinishReason | None, limits: Limits | None) -> None:
    scene = scene_of(TextPart("and so..."), reason=reason, limits=limits)
    await ProcessNode().run(scene.ctx)
    assert (scene.state.task_completed, scene.state.guidance, scene.state.answer) == (False, CUT_OFF, "and so...")


async def test_usage_and_cost_add_up_over_replies() -> None:
    scene = scene_of(TextPart("a"))
    await ProcessNode().run(scene.ctx)
    scene.state.reply = ModelResponse(parts=[TextPart("b")], usage=RequestUsage(input_tokens=30, output_tokens=40))
    await ProcessNode().run(scene.ctx)
    usage = scene.state.usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens) == (2, 33, 44)
    assert scene.state.cost is None


async def test_a_known_price_is_counted() -> None:
    scene = scene_of()
    usage = RequestUsage(input_tokens=1_000_000, output_tokens=0)
    for _ in range(2):
        scene.state.reply = ModelResponse(
            parts=[TextPart("a")], model_name="gpt-4o-mini", provider_name="openai", usage=usage
        )
        await ProcessNode().run(scene.ctx)
    assert scene.state.cost is not None
    assert scene.state.cost == 2 * Decimal(str(scene.state.reply.cost().total_price if scene.state.reply else 0))
    assert scene.state.cost > 0


async def test_a_stream_node_that_sets_no_reply_is_at_fault() -> None:
    scene = Scene()
    with pytest.raises(FlowError, match="without a reply"):
        await ProcessNode().run(scene.ctx)


async def test_a_whole_call_in_text_is_no_broken_text() -> None:
    """A bracket inside a call's argument does not make the reply look cut off."""
    scene = scene_of(TextPart('{"name": "look", "arguments": {"p": "def f("}}'), reason=None)
    assert isinstance(await ProcessNode().run(scene.ctx), Dispatch)
    assert scene.state.unusable_replies == 0
