"""The end of a history, as a history of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart


def tail(messages: Sequence[ModelMessage], count: int) -> list[ModelMessage]:
    """The last `count` messages; the results at their beginning go, since they answer a reply before it."""
    kept = list(messages[len(messages) - min(count, len(messages)) :])
    if kept and isinstance(kept[0], ModelRequest) and len(kept) < len(messages):
        others = [part for part in kept[0].parts if not isinstance(part, ToolReturnPart)]
        if len(others) < len(kept[0].parts):
            kept[:1] = [replace(kept[0], parts=others)] if others else []
    return kept
