from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelResponse
from turngraph.nodes.history.compact import compacted, cut
from turngraph.nodes.history.explain import explain
from turngraph.nodes.history.prune import clear
from turngraph.nodes.history.sanitise import sanitise
from turngraph.nodes.history.stamp import stamp
from turngraph.nodes.history.summary import summary_message
from turngraph.nodes.history.tokens import tokens_of

from .histories import BROKEN, NOON, calls, results, says, user, whole


def verdicts(stored: list[ModelMessage], sent: list[ModelMessage]) -> list[str]:
    return [one.verdict for one in explain(stored, sent)]


HISTORY = [user(stamp("fix it", NOON)), calls("a"), results(a="x" * 400), says("done"), user("more"), says("ok")]


def test_each_message_is_named_and_counted() -> None:
    told = explain(HISTORY, HISTORY)
    assert [(one.number, one.kind, one.label, one.verdict) for one in told] == [
        (1, "request", "prompt: fix it", "kept"),
        (2, "reply", "read_file a.py", "kept"),
        (3, "request", "result of read_file", "kept"),
        (4, "reply", "text: done", "kept"),
        (5, "request", "prompt: more", "kept"),
        (6, "reply", "text: ok", "kept"),
    ]
    assert [one.tokens for one in told] == [one.stored_tokens for one in told] == list(map(tokens_of, HISTORY))


def test_a_cleared_result_is_pruned() -> None:
    told = explain(HISTORY, clear(HISTORY, 1))
    assert [one.verdict for one in told] == ["kept", "kept", "pruned", "kept", "kept", "kept"]
    assert told[2].tokens < 10 < told[2].stored_tokens == 100
    assert "1 of its results cleared" in told[2].why


def test_what_a_summary_stands_for_is_summarised() -> None:
    plan = cut(HISTORY, keep=5)
    assert plan is not None
    sent = compacted(HISTORY, summary_message("so far", plan.dropped, NOON), plan.kept)
    told = explain(HISTORY, [*sent, user("new")])
    assert [one.verdict for one in told] == [*["summarised"] * 3, *["kept"] * 3, "summarised", "kept"]
    assert [(one.number, one.label) for one in told[-2:]] == [(None, "summary"), (None, "prompt: new")]
    assert all(one.tokens == 0 for one in told[:3])


def test_what_is_mended_says_how() -> None:
    stored = [user("go"), calls("a"), ModelResponse(parts=[]), results(b="lost"), user(" ", "next")]
    sent, _ = sanitise(stored)
    told = explain(stored, sent)
    assert [(one.verdict, one.number) for one in told] == [
        ("kept", 1),
        ("kept", 2),
        ("left out", 3),
        ("left out", 4),
        ("repaired", 5),
        ("repaired", None),
    ]
    assert "says nothing" in told[2].why
    assert "answer no open call" in told[3].why


@given(BROKEN)
def test_every_message_is_explained_whatever_became_of_it(history: list[ModelMessage]) -> None:
    told = explain(history, sanitise(history)[0])
    assert [one.number for one in told if one.number is not None] == list(range(1, len(history) + 1))
    assert all(len(one.label) <= 60 and one.why for one in told)


@given(whole(), st.integers(0, 8))
def test_a_message_is_pruned_only_where_a_result_was_cleared(history: list[ModelMessage], replies: int) -> None:
    sent = clear(history, replies)
    for told, before, after in zip(explain(history, sent), history, sent, strict=True):
        assert told.verdict == ("kept" if before == after else "pruned")
