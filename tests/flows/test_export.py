"""What is exported is the history the next model sees, and nothing secret."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from turngraph.flows.export import LONGEST_RESULT, as_json, as_markdown, read_session
from turngraph.flows.store import Store
from turngraph.nodes.history.sanitise import sanitise
from turngraph.nodes.slots import CallStatus
from turngraph.tools.secret import Secrets

from .store.test_history import iterations
from .stored import filled, head, said, whole_turn

NOTHING = Secrets({})
SECRET = "hunter2-and-more"


def written(store: Store, history: list[tuple[Any, ...]]) -> str:
    """A session with one turn of these iterations."""
    session = store.create_session("/work")
    with store.begin_turn(head(session), None) as log:
        for number, (prompt, parts, called, usage) in enumerate(history, 1):
            reply = ModelResponse(parts=[*parts, *(call for call, _ in called)], usage=usage)
            seal: list[int | list[int]] = [
                log.message(ModelRequest(parts=[UserPromptPart(prompt)])),
                log.message(reply),
            ]
            slots = [filled(position, call, content) for position, (call, content) in enumerate(called)]
            if slots:
                seal.append([log.result(number, slot) for slot in slots])
            log.seal(number, seal)
    return session


@settings(max_examples=60)
@given(st.lists(iterations, max_size=4))
def test_the_messages_of_the_json_are_the_history(history: list[tuple[Any, ...]]) -> None:
    with Store.in_memory() as store:
        session = written(store, history)
        expected, repairs = sanitise(store.load_messages(session).messages)
        document = as_json(exported := read_session(store, session, NOTHING))
    read = ModelMessagesTypeAdapter.validate_json(json.dumps(document["messages"]))
    if "\\ud" not in ascii(history):  # a lone surrogate
        assert read == expected
    assert ModelMessagesTypeAdapter.dump_python(read, mode="json") == document["messages"]
    assert (document["schema"], document["skipped"], document["redacted"]) == ("turngraph.session/1", 0, 0)
    assert document["repairs"] == repairs
    assert as_markdown(exported).startswith(f"# Session {session}\n")


@given(st.text("`ab\n", max_size=40), st.text("`ab\n#", max_size=40))
def test_no_result_closes_its_fence(result: str, args: str) -> None:
    with Store.in_memory() as store:
        call = ToolCallPart("look`", args, "c1")
        session = written(store, [("hi", [], [(call, result)], ModelResponse(parts=[]).usage)])
        lines = iter(as_markdown(read_session(store, session, NOTHING)).split("\n"))
    fenced: list[str] = []
    for line in lines:
        if opening := re.fullmatch("(`{3,})(json)?", line):
            body: list[str] = []
            while (inner := next(lines)) != opening[1]:
                body.append(inner)
            fenced.append("\n".join(body))
    assert fenced[-1] == result
    assert len(fenced) == 2


def test_a_long_result_is_cut_with_a_count_and_the_json_has_it_whole(store: Store) -> None:
    session = store.create_session("/work")
    with store.begin_turn(head(session), said("look")) as log:
        call = ToolCallPart("look", {}, "c1")
        reply = log.message(ModelResponse(parts=[ThinkingPart("hm", signature="s", provider_name="p"), call]))
        shot = BinaryContent(b"\x89PNG", media_type="image/png")
        result = filled(0, call, ["x" * (LONGEST_RESULT + 1234), shot], CallStatus.ERROR)
        log.seal(1, [log.prompt_row, reply, [log.result(1, result)]])
    exported = read_session(store, session, NOTHING)
    text = as_markdown(exported)
    (size,) = re.findall(r"\[([0-9,]+) more characters not shown\]", text)
    assert 1_234 <= int(size.replace(",", "")) < 1_400
    assert "x" * (LONGEST_RESULT + 1) not in text
    for words in ("> hm\n", "[image/png, 4 bytes]", "### Result of `look`, failed", "### Call `look`"):
        assert words in text
    assert "x" * (LONGEST_RESULT + 1234) in json.dumps(as_json(exported))


def test_secrets_are_taken_out_of_everything_and_counted(store: Store) -> None:
    session = store.create_session(f"/somewhere-{SECRET}")
    with store.begin_turn(head(session), said(f"my key is {SECRET}")) as log:
        call = ToolCallPart("look", {SECRET: [SECRET]}, "c1")
        attached = BinaryContent(f"a {SECRET}".encode(), media_type="text/plain")
        reply = ModelResponse(parts=[TextPart(f"so {SECRET}"), call])
        seal: list[int | list[int]] = [log.prompt_row, log.message(reply), [log.result(1, filled(0, call, attached))]]
        log.seal(1, seal)
    exported = read_session(store, session, Secrets({"MY_KEY": SECRET}))
    for text in (json.dumps(as_json(exported)), as_markdown(exported)):
        assert SECRET not in text
        assert "[redacted MY_KEY]" in text
    (result,) = exported.messages[2].parts
    assert isinstance(result, ToolReturnPart)
    assert [file.data for file in result.files if isinstance(file, BinaryContent)] == [b"a [redacted MY_KEY]"]
    assert exported.redacted >= 4
    assert any("secrets of the environment left out" in notice for notice in exported.notices)
    assert not read_session(store, session, NOTHING).notices


def test_what_cannot_be_read_is_counted(store: Store) -> None:
    session = store.create_session("/work")
    whole_turn(store, session)
    with store.begin_turn(head(session, "turn-2"), said("two")) as log:
        log.seal(1, [10_000])
    exported = read_session(store, session, NOTHING)
    assert (exported.skipped, len(exported.messages)) == (1, 2)
    assert "1 message of the history cannot be decoded and left out" in exported.notices
