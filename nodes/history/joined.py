"""Two requests as one, since strict servers refuse two messages of the user in a row."""

from __future__ import annotations

from dataclasses import replace

from pydantic_ai.messages import ModelRequest, ModelRequestPart, ToolReturnPart


def joined(first: ModelRequest, second: ModelRequest) -> ModelRequest:
    """One request with the parts of both: results first, then the rest in its order; one without parts changes none."""
    if not first.parts or not second.parts:
        return first if not second.parts else second
    parts: list[ModelRequestPart] = [*first.parts, *second.parts]
    parts.sort(key=lambda part: not isinstance(part, ToolReturnPart))
    metadata = {**(first.metadata or {}), **(second.metadata or {})} or None
    return replace(second, parts=parts, metadata=metadata)
