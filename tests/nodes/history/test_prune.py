from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolCallPart, ToolReturnPart
from turngraph.nodes.history.prune import (
    LEAST_SAVING,
    PLACEHOLDER,
    PROTECTED_TOKENS,
    Pruned,
    clear,
    is_cleared,
    prune,
)
from turngraph.nodes.history.tokens import without_last_usage

from .histories import NOON, calls, results, says, user, whole
from .validators import assert_valid

SIZES = st.lists(st.integers(0, 30_000), max_size=8)


def turn(call_id: str, tokens: int) -> list[ModelMessage]:
    return [user("go"), calls(call_id), results(**{call_id: "x" * 4 * tokens}), says("so")]


def turns(sizes: list[int]) -> list[ModelMessage]:
    return [message for number, size in enumerate(sizes) for message in turn(f"c{number}", size)]


def contents(messages: list[ModelMessage]) -> list[object]:
    return [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


@given(sizes=SIZES)
def test_only_old_results_are_cleared_and_only_when_it_pays(sizes: list[int]) -> None:
    history = turns(sizes)
    before = repr(history)
    pruned, saved = prune(history)
    assert repr(history) == before
    assert prune(pruned) == (pruned, Pruned())
    newest, total = 0, 0
    while newest < len(sizes) and total + sizes[-1 - newest] <= PROTECTED_TOKENS:
        total += sizes[-1 - newest]
        newest += 1
    old = sizes[: len(sizes) - newest]
    if len(sizes) < 2 or sum(old) < LEAST_SAVING:
        assert (pruned, saved) == (history, Pruned())
    else:
        assert (saved.results, saved.tokens) == (len(old), sum(old))
        assert contents(pruned)[: len(old)] == [PLACEHOLDER] * len(old)
        assert contents(pruned)[len(old) :] == contents(history)[len(old) :]
        assert pruned == without_last_usage(clear(history, saved.whole))


@settings(max_examples=30)
@given(whole(), st.integers(0, 12), st.integers(0, 500))
def test_a_pruned_history_is_valid_and_keeps_every_call(history: list[ModelMessage], replies: int, least: int) -> None:
    for pruned in (clear(history, replies), prune(history, protected=1_000, least_saving=least, user_turns=0)[0]):
        assert_valid(pruned)
        assert [m for m in pruned if m.kind == "response"] == [m for m in history if m.kind == "response"]
        assert clear(pruned, replies) == clear(clear(pruned, replies), replies)


@given(st.lists(st.integers(0, 6_000), min_size=2, max_size=40))
def test_between_two_cuts_a_growing_history_keeps_its_beginning(sizes: list[int]) -> None:
    history: list[ModelMessage] = []
    cuts = cleared = 0
    for number, size in enumerate(sizes):
        grown = [*history, *turn(f"c{number}", size)]
        pruned, saved = prune(grown)
        if saved.results:
            cuts += 1
            cleared += saved.tokens
        else:
            assert pruned == grown
        history = pruned
    assert cuts <= sum(sizes) // LEAST_SAVING
    assert cleared <= sum(sizes)


def test_exactly_what_is_protected_is_kept() -> None:
    assert prune(turns([LEAST_SAVING, PROTECTED_TOKENS]))[1].results == 1
    assert prune(turns([LEAST_SAVING - 1, PROTECTED_TOKENS]))[1] == Pruned()


def test_one_turn_alone_is_left_as_it_is() -> None:
    history = turn("a", 500_000)
    assert prune(history) == (history, Pruned())


def test_results_that_no_reply_has_followed_are_never_cleared() -> None:
    history = [*turn("old", LEAST_SAVING), user("go"), calls("new"), results(new="x" * 4 * 2 * PROTECTED_TOKENS)]
    pruned, saved = prune(history)
    assert saved.results == 1
    assert contents(pruned)[0] == PLACEHOLDER
    assert pruned[-1] == history[-1]


def test_pruning_goes_on_past_what_is_pruned_already() -> None:
    """A cleared result in the middle does not hide older ones."""
    history = turns([LEAST_SAVING, 10, PROTECTED_TOKENS])
    middle = history[6]
    assert isinstance(middle, ModelRequest)
    history[6] = ModelRequest(parts=[ToolReturnPart("read_file", PLACEHOLDER, "c1", timestamp=NOON)])
    pruned, saved = prune(history)
    assert (saved.results, saved.tokens) == (1, LEAST_SAVING)
    assert contents(pruned)[:2] == [PLACEHOLDER, PLACEHOLDER]


def test_which_file_was_read_outlives_what_was_read() -> None:
    pruned, _ = prune(turns([LEAST_SAVING, PROTECTED_TOKENS]))
    call, result = pruned[1].parts[0], pruned[2].parts[0]
    assert isinstance(call, ToolCallPart)
    assert call.args_as_dict() == {"path": "c0.py"}
    assert isinstance(result, ToolReturnPart)
    assert is_cleared(result)
    assert (result.tool_name, result.tool_call_id, result.outcome) == ("read_file", "c0", "success")


def test_a_cleared_failure_says_only_that_it_is_cleared() -> None:
    failed = ModelRequest(parts=[ToolReturnPart("t", "no", "a", outcome="failed", metadata={"at": 1}, timestamp=NOON)])
    (_, _, request) = clear([user("go"), calls("a"), failed], 0)
    assert request.parts == [ToolReturnPart("t", PLACEHOLDER, "a", timestamp=NOON)]
