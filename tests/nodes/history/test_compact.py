from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart, UserPromptPart
from turngraph.nodes.history.compact import compacted, cut
from turngraph.nodes.history.stamp import stamp
from turngraph.nodes.history.summary import LONGEST_REQUEST, is_summary, last_request, mechanical, summary_message
from turngraph.nodes.history.tokens import tokens_of
from turngraph.nodes.history.transcript import MOST_CHUNKS, chunks

from .histories import NOON, calls, results, says, user, whole
from .validators import assert_valid


def row_of_calls(rounds: int, size: int = 400) -> list[ModelMessage]:
    """One prompt, then nothing but calls and their results."""
    history: list[ModelMessage] = [user("do all of it")]
    for number in range(rounds):
        history += [calls(f"c{number}"), results(**{f"c{number}": "r" * size})]
    return history


def texts(message: ModelMessage) -> list[str]:
    return [str(part.content) for part in message.parts if isinstance(part, UserPromptPart)]


@given(whole(), st.integers(0, 4_000), st.integers(0, 3))
def test_a_compacted_history_is_valid_and_keeps_the_newest_replies(
    history: list[ModelMessage], keep: int, least: int
) -> None:
    before = repr(history)
    plan = cut(history, keep=keep, least=least)
    replies = [message for message in history if isinstance(message, ModelResponse)]
    if plan is None:
        assert len(replies) <= max(least, 1) or sum(map(tokens_of, history)) <= keep + tokens_of(history[0])
        return
    summary = summary_message("so far", plan.dropped, NOON)
    short = compacted(history, summary, plan.kept)
    assert repr(history) == before
    assert_valid(short)
    assert is_summary(short[0].parts[0])
    kept = [message for message in short if isinstance(message, ModelResponse)]
    assert kept == replies[len(replies) - plan.kept :]
    assert plan.kept >= min(least, len(replies) - 1)
    assert plan.kept <= least or sum(map(tokens_of, [*kept])) <= keep
    parts = [part for message in [*plan.dropped, *plan.tail] for part in message.parts]
    assert parts == [part for message in history for part in message.parts]


def test_a_long_row_of_calls_is_cut_in_its_middle() -> None:
    history = row_of_calls(40)
    plan = cut(history, keep=1_000)
    assert plan is not None
    assert 5 <= plan.kept <= 10
    short = compacted(history, summary_message("so far", plan.dropped, NOON), plan.kept)
    assert_valid(short)
    assert short[1:] == history[len(history) - 2 * plan.kept :]
    assert "do all of it" in texts(short[0])[0]


def test_results_that_no_reply_has_followed_stay_with_their_calls() -> None:
    plan = cut(row_of_calls(3, size=100_000), keep=0)
    assert plan is not None
    assert (plan.kept, [message.kind for message in plan.tail]) == (1, ["response", "request"])


def test_a_prompt_before_the_kept_replies_stays_without_the_results_beside_it() -> None:
    asked = ModelRequest(parts=[*results(a="r").parts, UserPromptPart("and now?", timestamp=NOON)])
    history = [user("go"), calls("a"), asked, says("done")]
    plan = cut(history, keep=2)
    assert plan is not None
    short = compacted(history, summary_message("so far", plan.dropped, NOON), plan.kept)
    assert [len(message.parts) for message in short] == [2, 1]
    assert texts(short[0])[1] == "and now?"
    assert [part.tool_call_id for m in plan.dropped for part in m.parts if isinstance(part, ToolReturnPart)] == ["a"]


@pytest.mark.parametrize("history", [[], [user("go")], [user("go"), calls("a"), results(a="r" * 9_000)]])
def test_where_no_reply_can_go_there_is_no_cut(history: list[ModelMessage]) -> None:
    assert cut(history, keep=0) is None


def test_a_summary_says_what_it_is_and_quotes_the_users_last_request() -> None:
    marker = user("[The request above was left without an answer: it was interrupted.]")
    history = [user(stamp("fix the parser", NOON)), says("ok"), user(stamp("now the lexer", NOON)), marker]
    (part,) = summary_message("The parser is fixed.", history, NOON).parts
    assert isinstance(part, UserPromptPart)
    assert is_summary(part)
    text = str(part.content)
    assert text.startswith("[Summary of the earlier conversation, made by the model itself")
    assert "4 older messages are left out" in text
    assert text.endswith(f"<<<\n{stamp('now the lexer', NOON)}\n>>>")


def test_a_quoted_request_is_bounded_and_its_cut_is_said() -> None:
    text = texts(summary_message("s", [user("x" * 50_000)], NOON))[0]
    assert len(text) < LONGEST_REQUEST + 500
    assert "characters left out" in text


def test_files_that_were_changed_and_read_are_listed_once_and_only_with_success() -> None:
    def act(tool: str, call_id: str, path: str, outcome: str = "success") -> list[ModelMessage]:
        made = ToolReturnPart(tool, "r", call_id, outcome=outcome)  # type: ignore[arg-type]
        return [calls(call_id, tool=tool, path=path), ModelRequest(parts=[made])]

    history = [
        *act("read_file", "a", "one.py"),
        *act("read_file", "b", "one.py"),
        *act("write_file", "c", "two.py"),
        *act("update_file", "d", "no.py", "denied"),
        *act("grep", "e", "src"),
    ]
    text = texts(summary_message("s", history, NOON))[0]
    assert "\nFiles changed: two.py\nFiles read: one.py" in text
    assert "no.py" not in text


def test_what_a_summary_held_outlives_the_next_summary() -> None:
    """In one long turn the only prompt is in the first summary, and must not be lost with it."""
    first = summary_message("one", row_of_calls(3), NOON)
    second = summary_message("two", [first, calls("x"), results(x="r")], NOON)
    text = texts(second)[0]
    assert "Files read: c0.py, c1.py, c2.py, x.py" in text
    assert last_request([second]) == "do all of it"
    assert "do all of it" in text
    third = summary_message(mechanical([second]), [second], NOON, by_model=False)
    assert last_request([third]) == "do all of it"
    assert "two" in texts(third)[0]


@given(whole(longest=20_000), st.integers(100, 3_000))
def test_what_a_summariser_reads_comes_in_pieces_that_fit(history: list[ModelMessage], tokens: int) -> None:
    pieces = chunks(history, tokens)
    assert len(pieces) <= MOST_CHUNKS
    assert all(len(piece) <= 4 * tokens + 60 for piece in pieces)


def test_what_is_left_out_of_a_transcript_is_counted() -> None:
    pieces = chunks(row_of_calls(200), 100)
    assert len(pieces) == MOST_CHUNKS
    assert "earlier entries left out" in pieces[0]
    (piece,) = chunks([user("go"), calls("a"), results(a="x" * 100_000)], 5_000)
    assert "characters left out" in piece
    assert len(piece) < 3_000


@given(whole())
def test_a_summary_without_a_model_is_bounded_and_names_prompts_and_calls(history: list[ModelMessage]) -> None:
    text = mechanical(history)
    assert len(text) < 20_000
    assert ("The user asked:" in text) == bool(history)
    assert ("Calls that were made:" in text) == any(
        isinstance(message, ModelResponse) and message.tool_calls for message in history
    )
