from __future__ import annotations

import logging

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelRequest,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    UserPromptPart,
)
from turngraph.nodes import ProcessNode, Stream, asking
from turngraph.nodes.asking import delta_of
from turngraph.nodes.errors import ProviderError
from turngraph.nodes.events import TextDelta, ThinkingDelta
from turngraph.nodes.state import RequestContext
from turngraph.nodes.stream_debug import EVENT_HISTORY_LIMIT, EVENT_LOG_LIMIT, RAW_STREAM_MAX_CHARS, StreamDebug

from .acting import Actor, Delta, Scene, call, reading, thought

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> int:
    return n


def scene_of(*deltas: Delta, debug: bool = False) -> Scene:
    scene = Scene(Actor(list(deltas)), reading(look), debug=debug)
    scene.state.session.messages = [ModelRequest(parts=[UserPromptPart("work")])]
    return scene


async def test_deltas_reach_the_sink_as_they_come() -> None:
    scene = scene_of(thought("hm "), thought("ah"), "Hel", "lo", call("look", n=1))
    assert isinstance(await Stream().run(scene.ctx), ProcessNode)
    assert scene.memory.events == [ThinkingDelta("hm "), ThinkingDelta("ah"), TextDelta("Hel"), TextDelta("lo")]
    reply = scene.state.reply
    assert reply is not None
    assert [type(part).__name__ for part in reply.parts] == ["ThinkingPart", "TextPart", "ToolCallPart"]
    assert reply.tool_calls[0].args == '{"n": 1}'
    assert scene.state.iteration == 1


@pytest.mark.parametrize(
    ("event", "delta"),
    [
        (PartStartEvent(index=0, part=TextPart("")), None),
        (PartStartEvent(index=0, part=TextPart("a")), TextDelta("a")),
        (PartDeltaEvent(index=0, delta=TextPartDelta("\udcff")), TextDelta("\\udcff")),
        (PartStartEvent(index=0, part=ThinkingPart("a")), ThinkingDelta("a")),
        (PartDeltaEvent(index=0, delta=ThinkingPartDelta(content_delta=None, signature_delta="s")), None),
        (PartDeltaEvent(index=0, delta=ThinkingPartDelta(content_delta="a")), ThinkingDelta("a")),
        (PartEndEvent(index=0, part=TextPart("whole")), None),
    ],
)
def test_what_a_person_sees_of_an_event(event: object, delta: object) -> None:
    assert delta_of(event) == delta  # pyright: ignore[reportArgumentType]


async def test_guidance_is_said_once() -> None:
    scene = scene_of("a")
    scene.state.guidance = "Call a tool."
    history = list(scene.state.session.messages)
    await Stream().run(scene.ctx)
    await Stream().run(scene.ctx)
    first, second = scene.model.requests
    assert [getattr(part, "content", None) for part in first[-1].parts] == ["work\n\nCall a tool."]
    assert [getattr(part, "content", None) for part in second[-1].parts] == ["work"]
    assert (scene.state.guidance, scene.state.session.messages) == (None, history)


async def test_a_failed_request_leaves_no_reply_of_the_earlier_one() -> None:
    scene = scene_of("half", ModelHTTPError(500, "actor"))
    scene.state.answer = "earlier"
    with pytest.raises(ProviderError, match="HTTP 500"):
        await Stream().run(scene.ctx)
    assert (scene.state.reply, scene.state.answer, scene.state.iteration) == (None, "", 1)


async def test_the_tools_are_offered() -> None:
    scene = scene_of("a")
    await Stream().run(scene.ctx)
    assert [tool.name for tool in scene.model.infos[0].function_tools] == ["look"]


async def test_nothing_is_recorded_when_debug_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: object) -> None:
        raise AssertionError("a stream was recorded")

    monkeypatch.setattr(asking, "StreamDebug", refuse)
    await Stream().run(scene_of("a").ctx)
    with pytest.raises(AssertionError, match="recorded"):
        await Stream().run(scene_of("a", debug=True).ctx)


def test_what_is_recorded_is_bounded_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "turngraph")
    debug = StreamDebug(RequestContext("r" * 8))
    debug.record(PartStartEvent(index=0, part=TextPart("x" * 15_000)))
    for _ in range(EVENT_HISTORY_LIMIT + 50):
        debug.record(PartDeltaEvent(index=0, delta=TextPartDelta("y" * 100)))
    assert len(debug.events) == EVENT_HISTORY_LIMIT
    assert len(debug.raw) == RAW_STREAM_MAX_CHARS
    assert debug.raw_left_out == 15_000 + (EVENT_HISTORY_LIMIT + 50) * 100 - RAW_STREAM_MAX_CHARS
    assert debug.seen.total() == EVENT_HISTORY_LIMIT + 51
    assert max(map(len, debug.events)) <= 200
    debug.log()
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == EVENT_LOG_LIMIT + 1
    assert all(line.startswith("[rrrrrrrr] stream") for line in lines)
    assert f"{RAW_STREAM_MAX_CHARS} characters kept, {debug.raw_left_out} left out" in lines[-1]
    assert f"{EVENT_HISTORY_LIMIT} events kept, {EVENT_LOG_LIMIT} logged" in lines[-1]
