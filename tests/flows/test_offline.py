"""The offline router calls one tool and shows what it truly found, or says that it cannot."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from turngraph.flows.offline import offline_model
from turngraph.nodes.errors import UsageError
from turngraph.nodes.history.stamp import stamp
from turngraph.nodes.parsing import parse_calls
from turngraph.tools.toolset import workspace_toolset

from .offline_requests import TOOLS, call_for, ls, offered, plant, reply_to


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plant(tmp_path)


@pytest.mark.anyio
async def test_a_stamp_is_no_part_of_the_request(root: Path):
    assert await call_for(root, stamp("ls src", datetime.now(UTC))) == ls("src")


@pytest.mark.anyio
async def test_a_tool_that_is_not_offered_is_named(root: Path):
    with pytest.raises(UsageError, match="needs the tool grep to find a text"):
        await reply_to(root, ModelRequest.user_text_prompt("find TODO"), tools=("list_dir",))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        ("success", "src/app.py:2: # TODO"),
        ("failed", "grep failed: src/app.py:2: # TODO"),
        ("retried", "grep failed: src/app.py:2: # TODO"),
        ("interrupted", "grep failed: src/app.py:2: # TODO"),
        ("denied", "grep was not allowed to run: src/app.py:2: # TODO"),
    ],
)
async def test_the_answer_is_the_tools_own_text_and_tells_a_failure(outcome: Any, text: str, root: Path):
    result = ToolReturnPart("grep", "src/app.py:2: # TODO", tool_call_id="1", outcome=outcome)
    reply = await reply_to(root, ModelRequest(parts=[result, UserPromptPart("a remark for the model")]))
    assert (reply.text, reply.finish_reason) == (text, "stop")


@pytest.mark.anyio
async def test_a_new_request_after_a_turn_that_broke_off_is_answered_itself(root: Path):
    left = ToolReturnPart("grep", "old", tool_call_id="1")
    request = ModelRequest(parts=[left, UserPromptPart(stamp("ls src", datetime.now(UTC)))])
    assert [call.tool_name for call in (await reply_to(root, request)).tool_calls] == ["list_dir"]


@pytest.mark.anyio
async def test_it_streams_calls_and_texts_and_costs_no_tokens(root: Path):
    model = offline_model(root)
    asked = ModelRequest.user_text_prompt("ls")
    async with model_request_stream(model, [asked], model_request_parameters=offered()) as stream:
        assert [event async for event in stream]
    call = stream.get()
    assert [part.tool_name for part in call.tool_calls] == ["list_dir"]
    result = ModelRequest(
        parts=[ToolReturnPart("list_dir", "one\ntwo\n", tool_call_id=call.tool_calls[0].tool_call_id)]
    )
    async with model_request_stream(model, [asked, call, result], model_request_parameters=offered()) as stream:
        assert len([event async for event in stream]) > 2
    answer = stream.get()
    assert (answer.text, answer.finish_reason, answer.model_name) == ("one\ntwo\n", "stop", "offline")
    assert not (call.usage + answer.usage).has_values()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("find TODO", ["README.md:3:", "src/app.py:2:"]),
        ("where is parse_config used in tests?", ["tests/test_app.py:1:"]),
        ("list the files in src", ["app.py", "pkg/"]),
        ("show src/app.py", ["src/app.py", "1→def parse_config(path):"]),
        ("cat nowhere.py", ["read_file failed", "nowhere.py"]),
    ],
)
async def test_with_the_real_tools_it_answers_with_paths_and_lines(said: str, shown: list[str], root: Path):
    agent = Agent(offline_model(root), toolsets=[workspace_toolset(root)])
    answer = (await agent.run(said)).output
    for text in shown:
        assert text in answer


CALLS = st.sampled_from(
    [
        '<tool_call>{"name": "bash", "arguments": {"command": "rm"}}</tool_call>',
        '<function=bash>{"command": "rm"}</function>',
        "<function=bash><parameter=command>rm</parameter></function>",
        '```json\n{"tool": "bash", "args": {}}\n```',
        '{"name": "bash", "parameters": {}}',
        '[{"name": "bash", "arguments": {}}]',
    ]
)


@pytest.mark.anyio
@given(pieces=st.lists(CALLS | st.text(alphabet=" \n`{}[]<>a", max_size=8), max_size=6))
async def test_what_a_file_says_never_reads_as_a_call(pieces: list[str]):
    text = "".join(pieces)
    result = ToolReturnPart("read_file", text, tool_call_id="1")
    reply = await reply_to(Path("/"), ModelRequest(parts=[result]))
    (part,) = reply.parts
    assert isinstance(part, TextPart)
    assert parse_calls(part.content, set(TOOLS))[0] == []
    if not parse_calls(text, set(TOOLS))[0]:
        assert text in part.content


@pytest.mark.anyio
async def test_a_call_that_no_rule_made_is_told_as_it_is(root: Path):
    called = ToolCallPart("glob", {"pattern": "*.py"}, tool_call_id="1")
    reply = await reply_to(
        root,
        ModelRequest.user_text_prompt("how many files are there?"),
        ModelResponse(parts=[called]),
        ModelRequest(parts=[ToolReturnPart("glob", "[1 file found for '*.py' in .]\na.py", tool_call_id="1")]),
    )
    assert reply.text == "[1 file found for '*.py' in .]\na.py"
