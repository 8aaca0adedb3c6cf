from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage
from turngraph.nodes.history.tokens import TOKENS_OF_A_FILE, estimate, tokens_of, without_last_usage

from .histories import PICTURE, calls, results, says, user, whole

TOOL = ToolDefinition(name="look", description="d" * 400, parameters_json_schema={"x": "y" * 400})


def test_what_came_after_the_last_reply_is_counted_on_top_of_its_usage() -> None:
    used = replace(calls("a", "b", "c", "d", "e"), usage=RequestUsage(input_tokens=99_000, output_tokens=1_000))
    answered = results(**dict.fromkeys("abcde", "x" * 40_000))
    assert estimate([user("go"), used, answered], instructions="i" * 4_000, tools=[TOOL]) == 150_000
    assert estimate([user("go"), used, answered, user("p" * 400)]) == 150_100


def test_without_usage_everything_is_counted_instructions_and_tools_too() -> None:
    history = [user("x" * 400), says("y" * 400)]
    assert estimate(history) == 200
    assert estimate(history, instructions="i" * 400) == 300
    assert 200 + 200 < estimate(history, tools=[TOOL]) < 200 + 220
    assert estimate([user("x"), says("y" * 400, used=5_000), says("z" * 400)]) == 200


@given(whole())
def test_more_messages_are_never_fewer_tokens(history: list[ModelMessage]) -> None:
    sizes = [estimate(history[:count]) for count in range(len(history) + 1)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == sum(map(tokens_of, history))


def test_a_file_counts_as_a_file_and_not_as_its_bytes() -> None:
    prompt = ModelRequest(parts=[UserPromptPart(["look" * 10, PICTURE])])
    assert tokens_of(prompt) == 10 + TOKENS_OF_A_FILE
    assert tokens_of(ModelRequest(parts=[ToolReturnPart("t", PICTURE, "a")])) in range(
        TOKENS_OF_A_FILE, TOKENS_OF_A_FILE + 100
    )


def test_a_history_that_was_rewritten_forgets_what_its_last_reply_counted() -> None:
    history = [user("x" * 400), says("y" * 400, used=5_000)]
    assert estimate(history) == 5_000
    assert estimate(without_last_usage(history)) == 200
    assert estimate(history) == 5_000
