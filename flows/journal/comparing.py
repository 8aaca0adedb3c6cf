"""Messages and rows compared, and told in a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelRequest

from ..store import SealBody

_SHOWN = 400


def same(one: Any, other: Any) -> bool:
    """Whether two messages, or rows, say the same, whenever they did."""
    if isinstance(one, SealBody) and isinstance(other, SealBody):
        return one.messages == other.messages
    if is_dataclass(one) and type(one) is type(other):
        names = [field.name for field in fields(one)]
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, list) and isinstance(other, list):
        parts, others = cast(list[Any], one), cast(list[Any], other)
        return len(parts) == len(others) and all(map(same, parts, others))
    if isinstance(one, datetime):
        return isinstance(other, datetime)
    return one == other


def short(message: ModelMessage) -> str:
    """What kind a message is of, and the beginning of what it says."""
    kind = "request" if isinstance(message, ModelRequest) else "reply"
    return f"({kind}) {clip(' | '.join(_parts(message)))}"


def _parts(message: ModelMessage) -> Iterator[str]:
    for part in message.parts:
        content: Any = getattr(part, "content", None) or getattr(part, "args", None)
        name = getattr(part, "tool_name", part.part_kind)
        yield f"{name}: {' '.join(str(content).split())}"


def clip(text: str) -> str:
    """The beginning of a text, and how much more there is."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} [{len(text) - _SHOWN} more characters]"
