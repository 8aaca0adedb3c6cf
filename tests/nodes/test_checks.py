from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.messages import FinishReason, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.tools import Tool, ToolDefinition
from pydantic_ai.toolsets import ExternalToolset, FunctionToolset
from pydantic_ai.usage import RequestUsage
from turngraph.nodes.checks import CUT_CALL, Verdict, check, has_whole_args, problem_of

from .acting import Scene, reading

pytestmark = pytest.mark.anyio


def look(n: int) -> int:
    return n


def guarded(n: int, raised: str) -> int:
    return n


def guard(ctx: Any, n: int, raised: str) -> None:
    errors = {
        "approval": ApprovalRequired(),
        "deferred": CallDeferred(),
        "failed": ToolFailed("out of paper"),
        "retry": ModelRetry("another n"),
        "bug": KeyError("n"),
    }
    if raised in errors:
        raise errors[raised]


def scene() -> Scene:
    outside = ExternalToolset[Any]([ToolDefinition(name="outside")])
    return Scene(
        None,
        reading(look),
        outside,
        FunctionToolset[Any]([Tool(guarded, args_validator=guard), Tool(look, name="asks", requires_approval=True)]),
    )


async def verdict(
    name: str, args: str | dict[str, Any] | None, reply: ModelResponse | None = None, max_tokens: int | None = None
) -> Verdict:
    stage = scene()
    manager = await stage.deps.toolbox.manager(stage.state)
    return await check(manager, ToolCallPart(name, args, "id"), reply, max_tokens)


def said(found: Verdict) -> str:
    problem = found.problem
    return problem.model_response_str() if isinstance(problem, ToolReturnPart) else problem or ""


@pytest.mark.parametrize("args", ['{"n": 1}', {"n": 1}, '{"n": "1"}'])
async def test_a_call_that_fits_may_run(args: Any) -> None:
    assert await verdict("look", args) == Verdict()


@pytest.mark.parametrize("args", ['{"n": "x"}', "{}", "", None, "[]", "null", '{"n": 1', "nonsense", '{"a": 1 "b": 2}'])
async def test_arguments_that_do_not_fit_are_the_calls_problem(args: str | None) -> None:
    found = await verdict("look", args)
    assert said(found)
    assert not found.requires_approval


async def test_an_unknown_name_is_told_the_names_there_are() -> None:
    assert "'look'" in said(await verdict("Look", "{}"))


async def test_a_tool_that_runs_elsewhere_cannot_be_called() -> None:
    assert "runs outside of this agent" in said(await verdict("outside", "{}"))
    assert "runs outside of this agent" in said(await verdict("guarded", {"n": 1, "raised": "deferred"}))


async def test_a_tool_may_ask_for_approval() -> None:
    assert await verdict("asks", {"n": 1}) == Verdict(requires_approval=True)
    assert await verdict("guarded", {"n": 1, "raised": "approval"}) == Verdict(requires_approval=True)


@pytest.mark.parametrize(("raised", "words"), [("failed", "out of paper"), ("retry", "another n"), ("bug", "KeyError")])
async def test_what_a_validator_raises_is_the_calls_problem(raised: str, words: str) -> None:
    assert words in said(await verdict("guarded", {"n": 1, "raised": raised}))


def reply(reason: FinishReason | None, output: int = 1) -> ModelResponse:
    return ModelResponse(parts=[], finish_reason=reason, usage=RequestUsage(output_tokens=output))


@pytest.mark.parametrize("cut", ['{"n": 1', "", '{"command": "rm -rf build && ec'])
async def test_a_call_cut_at_the_token_limit_is_told_so(cut: str) -> None:
    by_reason = await verdict("look", cut, reply("length"))
    by_count = await verdict("look", cut, reply("tool_call", 10), max_tokens=10)
    if cut:
        assert by_reason == by_count == Verdict(CUT_CALL)
    else:
        assert said(by_reason)
        assert said(by_count)


async def test_a_whole_call_runs_also_when_the_reply_was_cut() -> None:
    assert await verdict("look", '{"n": 1}', reply("length")) == Verdict()


@pytest.mark.parametrize(
    ("args", "whole"),
    [('{"a": 1}', True), ({"a": 1}, True), ("{}", True), ('{"a"', False), ("[]", False), ("7", False)],
)
def test_whole_arguments_are_one_json_object(args: Any, whole: bool) -> None:
    assert has_whole_args(ToolCallPart("t", args, "id")) is whole


def test_an_error_without_words_says_its_type() -> None:
    assert "ValueError" in str(problem_of(ValueError()))
    assert str(problem_of(ValueError("x"))) == "ValueError: x"
