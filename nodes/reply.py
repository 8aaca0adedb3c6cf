"""What a model's reply is: pure functions on one response."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any, cast

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)


def encodable(text: str) -> str:
    """The text with lone surrogates spelled out, so that it can be sent and stored."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def encodable_data(value: Any) -> Any:
    """JSON data with every text in it encodable."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list):
        return [encodable_data(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        items = cast(dict[str, Any], value).items()
        return {encodable(key): encodable_data(item) for key, item in items}
    return value


def split_thoughts(reply: ModelResponse) -> tuple[ModelResponse, list[str]]:
    """The reply without its thinking, and the thoughts.

    Thinking with a signature stays in the reply as well: its provider demands it back beside the calls it led to.
    """
    thoughts = [part.content for part in reply.parts if isinstance(part, ThinkingPart) and part.content.strip()]
    kept = [part for part in reply.parts if not isinstance(part, ThinkingPart) or part.signature]
    return replace(reply, parts=kept), thoughts


def tidy(reply: ModelResponse) -> ModelResponse:
    """The reply in a shape every provider takes back: no blank text, encodable text, each call with its own id.

    A call of a tool of the provider's own that came without its result goes: nobody here could answer it.
    """
    parts: list[ModelResponsePart] = []
    given = {part.tool_call_id for part in reply.tool_calls}
    answered = {part.tool_call_id for part in reply.parts if isinstance(part, NativeToolReturnPart)}
    taken: set[str] = set()
    for part in reply.parts:
        if isinstance(part, TextPart):
            if part.content.strip():
                parts.append(replace(part, content=encodable(part.content)))
        elif isinstance(part, ToolCallPart):
            call_id = part.tool_call_id
            if call_id in taken or not call_id:
                fresh = (f"{call_id or 'call'}-{number}" for number in count(1))
                call_id = next(one for one in fresh if one not in taken | given)
            taken.add(call_id)
            parts.append(replace(part, args=encodable_data(part.args), tool_call_id=call_id))
        elif not isinstance(part, NativeToolCallPart) or part.tool_call_id in answered:
            parts.append(part)
    return replace(reply, parts=parts)


def text_of(reply: ModelResponse) -> str:
    """The reply's text, without whitespace around it."""
    return "".join(part.content for part in reply.parts if isinstance(part, TextPart)).strip()


def hit_token_limit(reply: ModelResponse, max_tokens: int | None) -> bool:
    """Whether the provider stopped the reply for its length.

    The token count decides too, since some servers report another reason for a reply that filled its allowance.
    """
    if reply.finish_reason == "length":
        return True
    return max_tokens is not None and reply.usage.output_tokens >= max_tokens


def looks_cut_off(text: str) -> bool:
    """Whether a text reads as if it broke off: an ellipsis, an open code fence, or brackets that never close."""
    if text.endswith("...") and not text.endswith("...."):
        return True
    if text.count("```") % 2:
        return True
    return any(text.count(opening) > text.count(closing) for opening, closing in ("()", "[]", "{}"))


def is_truncated(reply: ModelResponse, max_tokens: int | None) -> bool:
    """Whether the reply's text is not whole. How it reads counts only where the provider gives no reason."""
    if hit_token_limit(reply, max_tokens):
        return True
    return reply.finish_reason is None and looks_cut_off(text_of(reply))
