from __future__ import annotations

import logging

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from turngraph.nodes import PrepareHistory, Stream
from turngraph.nodes.events import Notice
from turngraph.nodes.history.prune import PLACEHOLDER
from turngraph.nodes.history.stamp import stamp
from turngraph.nodes.request_log import log_dispatch_summary, log_node_details, log_tool_phase

from .acting import NOON, Actor, Scene

pytestmark = pytest.mark.anyio


def prompt(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


async def prepared(*messages: ModelMessage, said: str = "work", debug: bool = False) -> Scene:
    scene = Scene(debug=debug)
    scene.state.prompt = said
    scene.state.session.messages = list(messages)
    assert isinstance(await PrepareHistory().run(scene.ctx), Stream)
    return scene


async def test_the_prompt_is_stamped_stored_and_last() -> None:
    scene = await prepared(prompt("old"), ModelResponse(parts=[TextPart("answer")]))
    last = scene.state.session.messages[-1]
    assert last == ModelRequest(parts=[UserPromptPart(stamp("work", NOON), timestamp=NOON)], timestamp=NOON)
    assert scene.ledger.rows == [("message", (last, None))]
    assert scene.state.unsealed == [1]
    assert scene.memory.events == []


async def test_a_prompt_with_a_lone_surrogate_can_be_sent() -> None:
    scene = await prepared(said="a\udcff")
    (part,) = scene.state.session.messages[-1].parts
    assert isinstance(part, UserPromptPart)
    assert str(part.content).endswith("a\\udcff")


async def test_a_repair_is_written_and_said() -> None:
    scene = await prepared(prompt("old"), ModelResponse(parts=[ToolCallPart("look", {}, "a")]))
    (repair,) = scene.ledger.of("repair")
    assert repair == "1 unanswered call(s) answered as interrupted"
    assert scene.memory.events == [Notice("warning", f"history repaired: {repair}")]
    answers = [part for message in scene.state.session.messages for part in message.parts]
    assert [part.tool_call_id for part in answers if isinstance(part, ToolReturnPart)] == ["a"]


async def test_what_is_left_out_is_said_with_a_count() -> None:
    old = "x" * 4 * 45_000
    scene = await prepared(
        prompt("one"),
        ModelResponse(parts=[ToolCallPart("look", {}, "a"), ToolCallPart("look", {}, "b")]),
        ModelRequest(parts=[ToolReturnPart("look", old, "a"), ToolReturnPart("look", old, "b")]),
        ModelResponse(parts=[TextPart("so")]),
        prompt("two"),
        ModelResponse(parts=[TextPart("so")]),
    )
    (notice,) = scene.memory.events
    assert isinstance(notice, Notice)
    assert "2 old tool results left out" in notice.text
    cleared = [part for message in scene.state.session.messages for part in message.parts]
    assert [part.content for part in cleared if isinstance(part, ToolReturnPart)] == [PLACEHOLDER] * 2


async def test_nothing_is_logged_without_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scene = await prepared()
    log_node_details(scene.state, ModelResponse(parts=[]))
    log_dispatch_summary(scene.state)
    log_tool_phase(scene.state, "phase")
    assert caplog.records == []


async def test_debug_logs_the_life_of_a_request_under_its_id(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "turngraph")
    scene = await prepared(prompt("secret"), ModelResponse(parts=[TextPart("x")]), debug=True)
    log_node_details(scene.state, ModelResponse(parts=[TextPart("y" * 1000), ToolCallPart("look", {}, "a")]))
    scene.register(ToolCallPart("look", {}, "a"))
    log_dispatch_summary(scene.state)
    log_tool_phase(scene.state, "phase")
    lines = [record.getMessage() for record in caplog.records]
    assert all(line.startswith("[rrrrrrrr] ") for line in lines)
    assert [line.split("] ")[1].split(":")[0] for line in lines] == [
        "history loaded",
        "history to send",
        "reply 0",
        "dispatch 0",
        "tools 0",
    ]
    assert "2 messages, {'user-prompt': 1, 'text': 1}" in lines[0]
    assert max(map(len, lines)) < 400
    assert not any("secret" in line for line in lines)


async def test_a_percent_sign_in_what_is_logged_is_just_that(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "turngraph")
    scene = Scene(Actor(), debug=True)
    log_tool_phase(scene.state, "100 %s done")
    assert caplog.records[0].getMessage().endswith("100 %s done")
