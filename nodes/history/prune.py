"""Leave old tool output out of what is sent, so that a long conversation fits and costs less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart, UserPromptPart

from .tokens import tokens_of_part, without_last_usage

PROTECTED_TOKENS = 40_000
LEAST_SAVING = 20_000
LEAST_USER_TURNS = 2
_DIGITS = 20
"""More than a number has, but for giants."""
PLACEHOLDER = "[Old tool result content cleared]"


@dataclass(frozen=True)
class Pruned:
    """How many results were cleared, about how many tokens that saved, and how many of the last replies kept theirs.

    `whole` is the argument that makes `clear` do the same again; it means nothing where nothing was cleared.
    """

    results: int = 0
    tokens: int = 0
    whole: int = 0


def prune(
    messages: Sequence[ModelMessage],
    *,
    protected: int = PROTECTED_TOKENS,
    least_saving: int = LEAST_SAVING,
    user_turns: int = LEAST_USER_TURNS,
) -> tuple[list[ModelMessage], Pruned]:
    """The history with the content of old tool results replaced by a placeholder; calls and pairs stay.

    The results of the newest replies are kept, as many as fit into `protected` tokens, and so are those that no
    reply has followed yet. Nothing changes unless `least_saving` tokens are saved and the history holds `user_turns`
    turns of the user. What was cleared before is not counted, so a growing history stays the same between two cuts,
    and a provider's cache of it stays useful.
    """
    if _fits(messages, protected) or sum(map(_has_prompt, messages)) < user_turns:
        return list(messages), Pruned()
    whole = kept = results = tokens = 0
    cutting = False
    belonging: list[ToolReturnPart] = []
    for message in reversed(messages):
        if isinstance(message, ModelRequest):
            belonging += [part for part in message.parts if isinstance(part, ToolReturnPart) and not is_cleared(part)]
            continue
        size = sum(map(tokens_of_part, belonging))
        newest = whole == 0 and messages[-1] is not message
        cutting = cutting or (not newest and kept + size > protected)
        if cutting:
            results, tokens = results + len(belonging), tokens + size
        else:
            whole, kept = whole + 1, kept + size
        belonging = []
    if not cutting or tokens < max(least_saving, 1):
        return list(messages), Pruned()
    return without_last_usage(clear(messages, whole)), Pruned(results, tokens, whole)


def clear(messages: Sequence[ModelMessage], whole: int) -> list[ModelMessage]:
    """The history with the results before its last `whole` replies cleared."""
    first_whole = len(messages)
    if whole:
        replies = [at for at, message in enumerate(messages) if isinstance(message, ModelResponse)]
        first_whole = replies[-whole] if whole <= len(replies) else 0
    return [*map(_cleared, messages[:first_whole]), *messages[first_whole:]]


def _fits(messages: Sequence[ModelMessage], protected: int) -> bool:
    """Whether all results together are surely no more than is protected, which is soon seen of short ones."""
    size = 0
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                content: object = part.content
                if not isinstance(content, str | int | float | None):
                    return False
                size += len(content) if isinstance(content, str) else _DIGITS
    return size < protected


def is_cleared(part: ToolReturnPart) -> bool:
    return part.content == PLACEHOLDER


def _cleared(message: ModelMessage) -> ModelMessage:
    if not any(isinstance(part, ToolReturnPart) and not is_cleared(part) for part in message.parts):
        return message
    assert isinstance(message, ModelRequest)
    parts = [
        replace(part, content=PLACEHOLDER, outcome="success", metadata=None)
        if isinstance(part, ToolReturnPart)
        else part
        for part in message.parts
    ]
    return replace(message, parts=parts)


def _has_prompt(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(isinstance(part, UserPromptPart) for part in message.parts)
