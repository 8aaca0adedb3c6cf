"""What makes two requests the same, what tells them apart, and how little of a long one is read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage
from turngraph.flows.model_cache.question import Reader
from turngraph.flows.testing.model import ScriptedModel
from turngraph.nodes.errors import ProviderError
from turngraph.nodes.history.stamp import stamp

from .asking import ask, prompt, recorder, strict

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
TOOLS = [ToolDefinition(name="grep", description="Search."), ToolDefinition(name="glob", description="Find.")]
PARAMETERS = ModelRequestParameters(function_tools=TOOLS, instruction_parts=[InstructionPart(content="Be brief.")])
SETTINGS = ModelSettings(max_tokens=100)


def conversation(run: int = 0, words: dict[str, str] | None = None) -> list[ModelMessage]:
    """A conversation as one of several runs would hold it: the same words at other times under other ids."""
    said = {"prompt": "find it", "args": '{"p": "x"}', "result": "[exit code 0; 0.0 s]\nx.py", "more": "and now?"}
    said |= words or {}
    at, call = NOON + timedelta(days=run), f"pyd_ai_{run}"
    return [
        ModelRequest(parts=[UserPromptPart(stamp(said["prompt"], at), timestamp=at)], run_id=str(run), timestamp=at),
        ModelResponse(
            parts=[TextPart("I look.", id=str(run)), ToolCallPart("grep", said["args"], call, id=str(run))],
            usage=RequestUsage(input_tokens=run),
            timestamp=at,
            provider_response_id=str(run),
            provider_details={"run": run},
        ),
        ModelRequest(
            parts=[
                ToolReturnPart("grep", said["result"].replace("0.0 s", f"0.{run} s"), call, metadata=run, timestamp=at),
                UserPromptPart([stamp(said["more"], at), BinaryContent(b"png", media_type="image/png")], timestamp=at),
            ]
        ),
    ]


def key(messages: list[ModelMessage], **how: Any) -> str:
    model = how.get("model") or ScriptedModel()
    return Reader(model).read(messages, how.get("settings", SETTINGS), how.get("parameters", PARAMETERS)).key


def test_what_differs_from_run_to_run_makes_no_difference() -> None:
    assert key(conversation(1)) == key(conversation(2))


def test_transport_is_no_part_of_a_request() -> None:
    sent = ModelSettings(max_tokens=100, timeout=3.0, extra_headers={"x-request": "7"})
    assert key(conversation(), settings=sent) == key(conversation())
    traced = [replace(tool, metadata={"effect": "read_only"}, timeout=3.0) for tool in TOOLS]
    assert key(conversation(), parameters=replace(PARAMETERS, function_tools=traced)) == key(conversation())


@pytest.mark.parametrize(
    "words",
    [
        {"prompt": "find that"},
        {"args": '{"p": "y"}'},
        {"result": "[exit code 1; 0.0 s]\nx.py"},
        {"result": "[exit code 0; 0.0 s]\ny.py"},
        {"more": "and then?"},
    ],
)
def test_other_words_make_another_request(words: dict[str, str]) -> None:
    assert key(conversation(words=words)) != key(conversation())


def test_calls_of_one_reply_are_told_apart_by_their_place() -> None:
    """Ids do not count, but which result answers which call does."""

    def two(first: str, second: str) -> list[ModelMessage]:
        calls = ModelResponse(parts=[ToolCallPart("grep", {}, "a"), ToolCallPart("grep", {}, "b")])
        return [calls, ModelRequest(parts=[ToolReturnPart("grep", "1", first), ToolReturnPart("grep", "2", second)])]

    assert key(two("a", "b")) != key(two("b", "a"))


ASKED = (
    ("tool", {"parameters": replace(PARAMETERS, function_tools=[TOOLS[0], replace(TOOLS[1], description="Other.")])}),
    ("tool", {"parameters": replace(PARAMETERS, function_tools=TOOLS[:1])}),
    ("tools", {"parameters": replace(PARAMETERS, function_tools=TOOLS[::-1])}),
    ("instructions", {"parameters": replace(PARAMETERS, instruction_parts=[InstructionPart(content="Be long.")])}),
    ("output", {"parameters": replace(PARAMETERS, allow_text_output=False)}),
    ("setting", {"settings": ModelSettings(max_tokens=200)}),
    ("setting", {"settings": None}),
)


@pytest.mark.parametrize(("what", "how"), ASKED)
def test_a_changed_request_is_refused_with_what_differs(what: str, how: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    asked: dict[str, Any] = {"parameters": PARAMETERS, "settings": SETTINGS}
    ask(recorder(path, "Found."), *conversation(), **asked)
    assert ask(strict(path), *conversation(3), **asked).text == "Found."
    with pytest.raises(ProviderError) as refused:
        ask(strict(path), *conversation(), **asked | how)
    text = str(refused.value)
    assert text.startswith("request 1 to function:scripted (3 messages, the last 'user-prompt: and now?")
    assert what in text.split("differs in ")[1]


def test_the_refusal_names_the_nearest_of_several_records(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    model = recorder(path, "one", "two", "three")
    begun = prompt("begin")
    first = ask(model, begun)
    ask(model, begun, first, prompt("go on"))
    ask(model, prompt("something else"))
    with pytest.raises(ProviderError) as refused:
        ask(strict(path), begun, first, prompt("stop"))
    assert str(refused.value) == (
        f"request 1 to function:scripted (3 messages, the last 'user-prompt: stop') is not in the model cache {path}: "
        "the nearest record, of 3 messages, differs in message 3 of the conversation (it ends with "
        "'user-prompt: go on'); replay from a record of this very run, or let the mode 'replay' ask for what is missing"
    )
    with pytest.raises(ProviderError, match=r"the nearest record, of 3 messages, differs in its length \(the first 3 "):
        ask(strict(path), begun, first, prompt("go on"), ModelResponse(parts=[TextPart("two")]), prompt("more"))


def test_a_request_made_more_often_than_recorded_is_refused_as_such(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    ask(recorder(path, "one"), prompt("x"))
    model = strict(path)
    ask(model, prompt("x"))
    with pytest.raises(ProviderError, match=r"request 2 .* it was recorded 1 time, and this is number 2"):
        ask(model, prompt("x"))
    path.write_text("")
    with pytest.raises(ProviderError, match="the cache holds no record"):
        ask(strict(path), prompt("x"))


def _message(kind: str, text: str, call: str) -> ModelMessage:
    match kind:
        case "u":
            return prompt(text)
        case "a":
            return ModelResponse(parts=[TextPart(text), ToolCallPart("t", {}, call)])
        case _:
            return ModelRequest(parts=[ToolReturnPart("t", text, call)])


@given(st.data())
def test_a_reader_that_saw_other_requests_before_makes_the_same_keys(data: st.DataObject) -> None:
    """Whatever is cut, exchanged or begun anew: what is known of a prefix must never leak into another."""
    message = st.builds(_message, st.sampled_from("ura"), st.sampled_from("ab"), st.sampled_from("ab"))
    pool = data.draw(st.lists(message, min_size=1, max_size=5))
    reader = Reader(ScriptedModel())
    for _ in range(data.draw(st.integers(1, 8))):
        messages = data.draw(st.lists(st.sampled_from(pool), min_size=1, max_size=6))
        assert reader.read(messages, SETTINGS, PARAMETERS).key == key(messages)


@pytest.mark.parametrize("length", [10, 10_000])
def test_only_what_is_new_is_read(length: int) -> None:
    reader = Reader(ScriptedModel())
    history: list[ModelMessage] = [prompt("begin")]
    for number in range(length // 2):
        history += [ModelResponse(parts=[TextPart(f"reply {number}")]), prompt(f"and {number}")]
    reads: list[int] = []
    for number in range(6):
        aside = [history[0], prompt(f"aside {number}")]
        for messages in (history, [*history[:-1], prompt("guided")], aside):
            before = reader.messages_read
            reader.read(messages, SETTINGS, PARAMETERS)
            reads.append(reader.messages_read - before)
        history += [ModelResponse(parts=[TextPart("so")]), prompt(f"more {number}")]
    assert reads[0] == length + 1
    assert reads[3::3] == [3] * 5  # what is new, and the last message, which was guided before
    assert reads[1::3] == [1] * 6
    assert max(reads[2::3]) <= 2


def test_settings_of_the_model_itself_count() -> None:
    warm = ScriptedModel()
    warm._settings = ModelSettings(temperature=1.0)  # pyright: ignore[reportPrivateUsage] - the double takes none
    assert key(conversation(), model=warm) != key(conversation())


def test_the_key_of_a_request_stays_what_it_is() -> None:
    """Old files must be found again: what changes this needs a new version of the file."""
    assert key(conversation()) == "2934d4daac1ee2c9429dffe860cb2b6f"
