"""Whether a call can be run at all: its tool exists, and its arguments are whole and fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ToolFailedError,
    ToolRetryError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.tool_manager import ToolManager

from .reply import hit_token_limit

CUT_CALL = (
    "This call was cut off at the token limit and was not run. Make it again with shorter arguments: "
    "split long content over several calls."
)


@dataclass(frozen=True)
class Verdict:
    """`problem` is the result of a call that cannot run; `requires_approval` is the tool's own wish for a question."""

    problem: ToolReturnPart | str | None = None
    requires_approval: bool = False


async def check(
    manager: ToolManager[Any], call: ToolCallPart, reply: ModelResponse | None, max_tokens: int | None
) -> Verdict:
    """Validate a call without running it. Whatever goes wrong is the verdict, never an exception."""
    if reply is not None and hit_token_limit(reply, max_tokens) and not has_whole_args(call):
        return Verdict(CUT_CALL)
    try:
        validated = await manager.validate_tool_call(call)
    except Exception as error:
        return Verdict(problem_of(error))
    if validated.validation_error is not None:
        return Verdict(problem_of(validated.validation_error))
    deferred = isinstance(validated.deferral, CallDeferred)
    if deferred or (tool := validated.tool) is None or tool.tool_def.kind == "external":
        return Verdict(f"{call.tool_name} runs outside of this agent and cannot be called here.")
    asks = tool.tool_def.kind == "unapproved" or isinstance(validated.deferral, ApprovalRequired)
    return Verdict(requires_approval=asks)


def has_whole_args(call: ToolCallPart) -> bool:
    try:
        call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return False
    return True


def problem_of(error: Exception) -> ToolReturnPart | str:
    """What the model is told of an exception of a tool or its manager."""
    if isinstance(error, ToolRetryError) and isinstance(error.tool_retry, ToolReturnPart):
        return error.tool_retry
    if isinstance(error, ToolFailedError):
        return error.tool_failed
    if isinstance(error, UnexpectedModelBehavior) and error.__cause__ is not None:
        return f"This call failed again, in the same way: {error.__cause__}"
    return f"{type(error).__name__}: {error}"
