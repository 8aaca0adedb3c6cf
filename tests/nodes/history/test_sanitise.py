from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from turngraph.nodes.history.pairs import UNANSWERED
from turngraph.nodes.history.sanitise import NO_BEGINNING, sanitise

from .histories import BROKEN, NOON, PICTURE, calls, old_retry, results, says, user, whole
from .validators import assert_valid


@given(BROKEN)
def test_every_history_becomes_one_that_can_be_sent(history: list[ModelMessage]) -> None:
    before = repr(history)
    mended, repairs = sanitise(history)
    assert repr(history) == before
    assert_valid(mended)
    assert sanitise(mended) == (mended, [])
    assert (repairs == []) == (mended == history)


@given(whole())
def test_a_valid_history_comes_back_as_the_same_objects(history: list[ModelMessage]) -> None:
    mended, repairs = sanitise(history)
    assert repairs == []
    assert all(one is other for one, other in zip(mended, history, strict=True))


@given(BROKEN)
def test_nothing_that_was_said_is_lost_or_moved(history: list[ModelMessage]) -> None:
    assert _said(sanitise(history)[0]) == _said(history)


def _said(messages: Sequence[ModelMessage]) -> list[object]:
    """Texts, pictures and calls, in the order they came."""
    said: list[object] = []
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, UserPromptPart) and not _is_put_in(part):
            items = [part.content] if isinstance(part.content, str) else part.content
            said += [item for item in items if item == PICTURE or (isinstance(item, str) and item.strip())]
        elif isinstance(part, TextPart) and part.content.strip():
            said.append(part.content)
        elif isinstance(part, ToolCallPart):
            said.append(part.args)
    return said


def _is_put_in(part: UserPromptPart) -> bool:
    return isinstance(part.content, str) and (part.content == NO_BEGINNING or "Fix the errors" in part.content)


@given(BROKEN)
def test_every_result_is_kept_or_counted(history: list[ModelMessage]) -> None:
    mended, repairs = sanitise(history)
    stored = [
        part
        for message in history
        for part in message.parts
        if isinstance(part, ToolReturnPart) or (part.part_kind == "retry-prompt" and part.tool_name is not None)
    ]
    sent = [part for message in mended for part in message.parts if isinstance(part, ToolReturnPart)]
    put_in = sum(part.content == UNANSWERED for part in sent)
    assert put_in == _count(repairs, "unanswered call")
    assert len(stored) - _count(repairs, "second result") - _count(repairs, "without a call") == len(sent) - put_in


def _count(repairs: list[str], what: str) -> int:
    return sum(int(repair.split()[0]) for repair in repairs if what in repair)


def shape(messages: Sequence[ModelMessage]) -> list[list[str]]:
    """Each message as its parts: results as the id they answer, the rest as what it says."""
    return [
        [
            part.tool_call_id
            if isinstance(part, ToolReturnPart | ToolCallPart)
            else str(getattr(part, "content", part.part_kind))
            for part in message.parts
        ]
        for message in messages
    ]


A_CALL = ModelResponse(parts=[ToolCallPart("grep", {"p": "x"}, "a")], timestamp=NOON)


def test_an_unanswered_call_is_answered_right_after_it_before_the_users_text() -> None:
    mended, repairs = sanitise([user("q1"), A_CALL, user("q2")])
    assert shape(mended) == [["q1"], ["a"], ["a", "q2"]]
    assert isinstance(result := mended[2].parts[0], ToolReturnPart)
    assert (result.content, result.outcome, result.timestamp) == (UNANSWERED, "interrupted", NOON)
    assert repairs == ["1 unanswered call(s) answered as interrupted"]
    assert sanitise([user("q1"), A_CALL])[0][:2] == [user("q1"), A_CALL]


def test_the_calls_of_every_failed_attempt_are_answered() -> None:
    attempts = [calls(f"t{number}") for number in range(5)]
    mended, repairs = sanitise([user("go"), *attempts, user("hi")])
    assert repairs == ["5 unanswered call(s) answered as interrupted"]
    assert_valid(mended)


def test_users_texts_around_an_empty_answer_become_one_request() -> None:
    first = ModelRequest(parts=[UserPromptPart(["a", PICTURE], timestamp=NOON)])
    mended, repairs = sanitise([first, ModelResponse(parts=[], timestamp=NOON), user("b")])
    (request,) = mended
    assert [part.content for part in request.parts if isinstance(part, UserPromptPart)] == [["a", PICTURE], "b"]
    assert repairs == ["1 empty message(s) left out", "1 request(s) joined to the one before"]


def test_one_id_for_all_calls_loses_no_result() -> None:
    history = [m for r in ("r1", "r2", "r3") for m in (user("go"), calls("K"), results(K=r), says("so"))]
    assert sanitise(history) == (history, [])
    assert_valid(history)


def test_a_second_result_of_a_call_is_left_out() -> None:
    twice = ModelRequest(parts=[*results(t9="part").parts, *results(t9="error").parts])
    mended, repairs = sanitise([user("go"), calls("t9"), twice])
    assert mended[2] == ModelRequest(parts=results(t9="part").parts)
    assert repairs == ["1 second result(s) of a call left out"]


def test_a_call_whose_arguments_broke_off_stays_with_its_result() -> None:
    broken = ModelResponse(parts=[ToolCallPart("write_file", '{"path": "src/ma', "p")], timestamp=NOON)
    mended, _ = sanitise([user("go"), broken, user("next")])
    assert mended[1] is broken
    assert_valid(mended)


def test_results_come_in_call_order_and_before_the_users_text() -> None:
    late = ModelRequest(parts=[UserPromptPart("wait"), *results(c="3", a="1").parts], timestamp=NOON)
    mended, repairs = sanitise([user("go"), calls("a", "b", "c"), late])
    assert shape(mended)[2] == ["a", "b", "c", "wait"]
    assert repairs == ["1 unanswered call(s) answered as interrupted", "1 result(s) moved to their calls"]


def test_a_late_result_is_moved_to_its_call() -> None:
    history = [user("go"), calls("a"), user("well?"), says("wait"), ModelRequest([*results(a="late").parts])]
    mended, repairs = sanitise([*history, user("and?")])
    assert shape(mended) == [["go"], ["a"], ["a", "well?"], ["wait"], ["and?"]]
    assert "late" in repr(mended[2])
    assert repairs[0] == "1 result(s) moved to their calls"


def test_the_order_in_which_things_were_said_stays() -> None:
    history = [user("u"), says("one"), calls("a"), results(a="r"), says("two"), calls("b"), results(b="r")]
    mended, repairs = sanitise(history)
    assert [text for texts in shape(mended) for text in texts] == ["u", "one", "a", "a", "two", "b", "b"]
    assert repairs == ["2 response(s) joined to the one before"]


def test_a_call_whose_result_was_summarised_away_is_answered() -> None:
    mended, repairs = sanitise([user("summary"), calls("s1"), says("done")])
    assert shape(mended) == [["summary"], ["s1"], ["s1"], ["done"]]
    assert len(repairs) == 1


def test_calls_of_one_id_in_one_response_get_ids_of_their_own() -> None:
    answered = ModelRequest(parts=[*results(K="1").parts, *results(K="2").parts])
    mended, repairs = sanitise([user("go"), calls("K", "K"), answered])
    assert shape(mended)[1:] == [["K", "K-1"], ["K", "K-1"]]
    assert [part.content for part in mended[2].parts if isinstance(part, ToolReturnPart)] == ["1", "2"]
    assert repairs == ["1 call(s) given an id or a name that can be sent"]


@pytest.mark.parametrize("name", ["", "run<|channel|>json", "a b", "x" * 300])
def test_a_name_that_no_server_takes_back_is_spelled_another_way(name: str) -> None:
    answered = ModelRequest(parts=[ToolReturnPart(name, "unknown tool", "a")])
    mended, _ = sanitise([user("go"), ModelResponse(parts=[ToolCallPart(name, {}, "a")]), answered])
    names = {part.tool_name for m in mended for part in m.parts if isinstance(part, ToolCallPart | ToolReturnPart)}
    (sent,) = names
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,128}", sent)


def test_what_spoke_for_an_earlier_run_goes() -> None:
    old = ModelRequest(parts=[SystemPromptPart("be old"), UserPromptPart("hi")], instructions="of then")
    (request,), repairs = sanitise([old])
    assert isinstance(request, ModelRequest)
    assert (request.instructions, [part.part_kind for part in request.parts]) == (None, ["user-prompt"])
    assert repairs == ["2 system prompt(s) of earlier runs left out"]


def test_a_retry_of_an_older_form_answers_its_call() -> None:
    again = ModelRequest(parts=[old_retry("read_file", "a"), old_retry(None, "")])
    mended, repairs = sanitise([user("go"), calls("a"), again])
    assert [part.part_kind for part in mended[2].parts] == ["tool-return", "user-prompt"]
    assert repairs == ["2 retry prompt(s) of an older form rewritten"]


def test_a_history_without_its_beginning_says_so() -> None:
    mended, repairs = sanitise([says("as I said"), user("hm")])
    assert shape(mended) == [[NO_BEGINNING], ["as I said"], ["hm"]]
    assert repairs == ["1 missing beginning marked"]
    assert sanitise([says("as I said"), user("hm")], continues=True)[1] == []


def test_what_a_model_had_said_when_it_was_cut_off_stays() -> None:
    cut_off = ModelResponse(parts=[TextPart("I will"), ToolCallPart("t", '{"a', "x")], state="interrupted")
    mended, _ = sanitise([user("go"), cut_off])
    assert mended[1] is cut_off
    assert sanitise([user("go"), ModelResponse(parts=[ThinkingPart("hm")], state="interrupted")])[0] == [user("go")]


def test_blank_texts_go_and_the_rest_of_their_message_stays() -> None:
    reply = ModelResponse(parts=[TextPart("\n\n"), ToolCallPart("t", {}, "a")], timestamp=NOON)
    mended, repairs = sanitise([user(" ", "go"), reply, results(a="r")])
    assert shape(mended) == [["go"], ["a"], ["a"]]
    assert repairs == ["2 empty text(s) left out"]
