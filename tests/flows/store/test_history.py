"""What a turn sealed is what later turns read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage
from turngraph.flows.store import ResultBody, Store

from ..stored import answered, filled, head, joined, said, seal_all, texts_of, whole_turn

texts = st.text(st.characters(codec=None), max_size=20)  # lone surrogates and U+FFFE included
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
contents = plain.filter(lambda value: not (isinstance(value, dict) and "kind" in value))
images = st.binary(max_size=30).map(lambda data: BinaryContent.narrow_type(BinaryContent(data, media_type="image/png")))
prompts = texts | st.lists(texts | images, min_size=1, max_size=3)
calls = st.builds(
    ToolCallPart,
    tool_name=texts,
    args=st.dictionaries(texts, plain, max_size=3) | texts,
    tool_call_id=texts,
)
usages = st.builds(RequestUsage, input_tokens=st.integers(0, 9), output_tokens=st.integers(0, 9))
signed = st.builds(ThinkingPart, content=texts, signature=st.text(min_size=1), provider_name=st.just("p"))
spoken: st.SearchStrategy[ModelResponsePart] = texts.map(TextPart) | signed
iterations = st.tuples(prompts, st.lists(spoken, max_size=2), st.lists(st.tuples(calls, contents), max_size=3), usages)


@settings(deadline=None, max_examples=60)
@given(st.lists(iterations, max_size=4))
def test_what_is_sealed_is_loaded_equal(history: list[tuple[Any, ...]]) -> None:
    expected: list[ModelMessage] = []
    with Store.in_memory() as store:
        session = store.create_session("/work")
        with store.begin_turn(head(session), None) as log:
            for number, (prompt, parts, called, usage) in enumerate(history, 1):
                request_parts: list[ModelRequestPart] = [UserPromptPart(prompt)]
                request = ModelRequest(parts=request_parts)
                reply = ModelResponse(parts=[*parts, *(call for call, _ in called)], usage=usage)
                seal: list[int | list[int]] = [log.message(request), log.message(reply)]
                slots = [filled(position, call, content) for position, (call, content) in enumerate(called)]
                expected += [request, reply]
                if slots:
                    seal.append([log.result(number, slot) for slot in slots])
                    expected.append(ModelRequest(parts=[slot.result for slot in slots if slot.result]))
                log.seal(number, seal)
        loaded = store.load_messages(session)
    assert loaded.skipped == 0
    assert joined(loaded.messages) == joined(expected)


def test_bytes_come_back_as_they_were(store: Store) -> None:
    data = bytes(range(256))
    session = store.create_session("/work")
    call = ToolCallPart("shoot", {}, "c1")
    with store.begin_turn(head(session), None) as log:
        prompt = said(["look \udcff", BinaryContent(data, media_type="application/x")])
        result = filled(0, call, ["see", BinaryContent(data, media_type="image/png")])
        seal: list[int | list[int]] = [log.message(prompt), log.message(ModelResponse(parts=[call]))]
        log.seal(1, [*seal, [log.result(1, result)]])
    request, _, results = store.load_messages(session).messages
    text, attached = content_of(request)
    _, shot = content_of(results)
    assert text == "look \udcff"
    assert isinstance(attached, BinaryContent)
    assert isinstance(shot, BinaryContent)
    assert attached.data == shot.data == data


def content_of(message: ModelMessage) -> Any:
    (part,) = message.parts
    assert isinstance(part, UserPromptPart | ToolReturnPart)
    return part.content


def _circle() -> Any:
    circle: dict[str, Any] = {"name": "circle"}
    circle["self"] = circle
    return circle


def _nested(depth: int) -> Any:
    nested: Any = "core"
    for _ in range(depth):
        nested = [nested]
    return nested


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no text either")


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        (_circle(), "circle"),
        (_nested(230), "core"),
        (_nested(3000), ""),
        (10**4400, ""),
        (Unspeakable(), "Unspeakable"),
        ({"deep": Unspeakable()}, "Unspeakable"),
        ("\ud800", "\ud800"),
        ({"key \udcff": 1}, "key \\udcff"),
        ({"raw": b"\xff\x00"}, "_wA="),
    ],
    ids=[
        "circle",
        "deep",
        "deeper",
        "digits",
        "unspeakable",
        "unspeakable inside",
        "surrogate",
        "surrogate in a key",
        "bytes",
    ],
)
def test_a_result_json_cannot_hold_is_kept_as_text(content: Any, stored: str) -> None:
    call = ToolCallPart("odd", {}, "c1")
    with Store.in_memory() as store:
        session = store.create_session("/work")
        with store.begin_turn(head(session), None) as log:
            log.seal(1, [log.message(ModelResponse(parts=[call])), [log.result(1, filled(0, call, content))]])
        history = store.load_messages(session)
    assert history.skipped == 0
    assert stored in str(content_of(history.messages[1]))


def test_a_message_json_cannot_hold_is_kept_as_text(store: Store) -> None:
    session = store.create_session("/work")
    call = ToolCallPart("odd", {"deep": _nested(230)}, "c1")
    with store.begin_turn(head(session), None) as log:
        log.seal(1, [log.message(ModelResponse(parts=[TextPart("odd"), call])), [log.result(1, filled(0, call))]])
        log.result(2, filled(1, call))
    reply, _ = store.load_messages(session).messages
    kept = reply.parts[1]
    assert isinstance(kept, ToolCallPart)
    assert isinstance(kept.args, str)
    assert "core" in kept.args
    assert texts_of(store, session) == ["odd"]
    bodies = [record.body for record in store.journal("turn-1")]
    assert [body.call for body in bodies if isinstance(body, ResultBody)] == [None, kept]


def test_only_what_is_sealed_is_loaded_in_the_order_of_its_seals(store: Store) -> None:
    session = store.create_session("/work")
    with store.begin_turn(head(session), None) as log:
        later, sooner = log.message(answered("later")), log.message(said("sooner"))
        log.message(answered("never"))
        log.seal(1, [sooner])
        log.seal(2, [later])
    assert texts_of(store, session) == ["sooner", "later"]


def test_a_message_that_replaces_another_supersedes_it(store: Store) -> None:
    session = store.create_session("/work")
    with store.begin_turn(head(session), None) as log:
        draft = log.message(answered("<tool_call>"))
        log.seal(1, [log.message(said("hello")), log.message(answered("final"), replaces=draft)])
    assert texts_of(store, session) == ["hello", "final"]


def test_sessions_do_not_see_each_other(store: Store) -> None:
    one, other = store.create_session("/work"), store.create_session("/work")
    whole_turn(store, one, "turn-1", "one")
    whole_turn(store, other, "turn-2", "other")
    assert texts_of(store, one) == ["one", "done"]
    assert texts_of(store, other) == ["other", "done"]


@pytest.mark.parametrize("damage", ["no json", '{"kind": "letter"}', "null", "{},{}", b"\xff\xfe", None])
def test_a_row_that_cannot_be_decoded_takes_its_seal_along(
    store: Store, store_path: Path, damage: str | bytes | None
) -> None:
    session = store.create_session("/work")
    call = ToolCallPart("read", {}, "c1")
    with store.begin_turn(head(session), None) as log:
        seal_all(log, [said("first")])
        reply = log.message(ModelResponse(parts=[call]))
        log.seal(2, [reply, [log.result(2, filled(0, call))]])
        seal_all(log, [said("third")], 3)
    with closing(sqlite3.connect(store_path)) as connection:
        connection.executescript("DROP TRIGGER log_never_updated")
        connection.execute("UPDATE log SET content = CAST(? AS TEXT) WHERE kind = 'result'", (damage,))
        connection.commit()
    assert texts_of(store, session) == ["first", "third"]
    assert store.load_messages(session).skipped == 2


@pytest.mark.parametrize("damage", [-(2**63), 2**63 - 1])
def test_a_damaged_time_loses_nothing(store: Store, store_path: Path, damage: int) -> None:
    session = store.create_session("/work")
    call = ToolCallPart("read", {}, "c1")
    with store.begin_turn(head(session), None) as log:
        log.seal(1, [log.message(ModelResponse(parts=[call])), [log.result(1, filled(0, call))]])
    with closing(sqlite3.connect(store_path)) as connection:
        connection.executescript("DROP TRIGGER log_never_updated")
        connection.execute("UPDATE log SET at = ? WHERE kind IN ('result', 'seal')", (damage,))
        connection.commit()
    loaded = store.load_messages(session)
    assert (len(loaded.messages), loaded.skipped) == (2, 0)
    assert [record.kind for record in store.journal("turn-1")] == ["turn", "message", "result", "seal", "release"]


def test_a_call_is_stored_again_only_if_its_reply_does_not_hold_it(store: Store) -> None:
    session = store.create_session("/work")
    held, other = ToolCallPart("read", {"path": "a"}, "c1"), ToolCallPart("read", {"path": "b"}, "c2")
    with store.begin_turn(head(session), None) as log:
        log.message(ModelResponse(parts=[TextPart("I read."), held]))
        log.intent(1, filled(0, held))
        log.result(1, filled(0, held))
        log.result(1, filled(1, other))
    bodies = [record.body for record in store.journal("turn-1")]
    assert [body.call for body in bodies if isinstance(body, ResultBody)] == [None, other]
