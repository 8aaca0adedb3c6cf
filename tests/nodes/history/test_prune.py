from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from turngraph.nodes.history.prune import LEAST_SAVING, PLACEHOLDER, PROTECTED_TOKENS, Pruned, prune


def turn(call_id: str, result: str) -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart("go")]),
        ModelResponse(parts=[ToolCallPart("t", {}, call_id)]),
        ModelRequest(parts=[ToolReturnPart("t", result, call_id)]),
        ModelResponse(parts=[TextPart("so")]),
    ]


SIZES = st.lists(st.integers(0, 30_000), max_size=8)


@given(sizes=SIZES, split=st.integers(0, 8))
def test_only_old_results_are_cleared_and_only_when_it_pays(sizes: list[int], split: int) -> None:
    turns = [turn(f"c{number}", "x" * 4 * size) for number, size in enumerate(sizes)]
    history = [message for one in turns for message in one]
    pruned, saved = prune(history)
    assert prune(pruned) == (pruned, Pruned())
    contents = [part.content for message in pruned for part in message.parts if isinstance(part, ToolReturnPart)]
    kept = [size for size, content in zip(sizes, contents, strict=True) if content != PLACEHOLDER]
    cleared = sum(sizes) - sum(kept)
    assert saved.tokens == cleared
    assert saved.results == contents.count(PLACEHOLDER)
    if cleared:
        assert cleared >= LEAST_SAVING
        assert sum(kept) <= PROTECTED_TOKENS
    newest, total = 0, 0
    while newest < len(sizes) and total + sizes[-1 - newest] <= PROTECTED_TOKENS:
        total += sizes[-1 - newest]
        newest += 1
    assert all(content != PLACEHOLDER for content in contents[len(contents) - newest :])
    if len(sizes) >= 2 and sum(sizes) - total >= LEAST_SAVING:
        assert cleared == sum(sizes) - total


def test_one_turn_alone_is_left_as_it_is() -> None:
    history = turn("a", "x" * 4 * 500_000)
    assert prune(history)[0] == history


def test_exactly_what_is_protected_is_kept() -> None:
    history = [*turn("old", "x" * 4 * LEAST_SAVING), *turn("new", "x" * 4 * PROTECTED_TOKENS)]
    assert prune(history)[1].results == 1
    short = [*turn("old", "x" * 4 * (LEAST_SAVING - 1)), *turn("new", "x" * 4 * PROTECTED_TOKENS)]
    assert prune(short) == (short, Pruned())
