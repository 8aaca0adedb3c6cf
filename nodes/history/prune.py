"""Leave old tool output out of what is sent, so that a long conversation fits and costs less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ToolReturnPart,
    UserPromptPart,
)

PROTECTED_TOKENS = 40_000
LEAST_SAVING = 20_000
LEAST_USER_TURNS = 2
PLACEHOLDER = "[Old tool result content cleared]"
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class Pruned:
    """How many results were cleared, and about how many tokens that saved."""

    results: int = 0
    tokens: int = 0


def prune(messages: Sequence[ModelMessage]) -> tuple[list[ModelMessage], Pruned]:
    """The history with the content of old tool results replaced by a placeholder; calls and pairs stay.

    The newest 40,000 tokens of tool output are kept. Nothing changes unless at least 20,000 tokens are saved and
    the history holds two turns of the user. A token is taken as four characters.
    """
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    if sum(_tokens(part) for request in requests for part in request.parts) <= PROTECTED_TOKENS:
        return list(messages), Pruned()
    if sum(map(_has_prompt, requests)) < LEAST_USER_TURNS:
        return list(messages), Pruned()
    kept = 0
    saved = Pruned()
    pruned: list[ModelMessage] = []
    for message in reversed(messages):
        if isinstance(message, ModelRequest):
            parts: list[ModelRequestPart] = []
            for part in reversed(message.parts):
                tokens = _tokens(part)
                if isinstance(part, ToolReturnPart) and kept + tokens > PROTECTED_TOKENS and not _is_cleared(part):
                    kept = PROTECTED_TOKENS
                    saved = Pruned(saved.results + 1, saved.tokens + tokens)
                    parts.append(replace(part, content=PLACEHOLDER))
                else:
                    kept += tokens
                    parts.append(part)
            pruned.append(replace(message, parts=parts[::-1]))
        else:
            pruned.append(message)
    if saved.tokens < LEAST_SAVING:
        return list(messages), Pruned()
    return pruned[::-1], saved


def _has_prompt(message: ModelRequest) -> bool:
    return any(isinstance(part, UserPromptPart) for part in message.parts)


def _tokens(part: ModelRequestPart) -> int:
    if not isinstance(part, ToolReturnPart) or _is_cleared(part):
        return 0
    content: object = part.content
    text = content if isinstance(content, str) else part.model_response_str(wrap_if_error=False)
    return len(text) // _CHARACTERS_PER_TOKEN


def _is_cleared(part: ToolReturnPart) -> bool:
    return part.content == PLACEHOLDER
