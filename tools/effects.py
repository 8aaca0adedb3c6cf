"""What a tool may do to the world; retries, order and authorisation all follow from it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic_ai.tools import ToolDefinition


class Effect(StrEnum):
    """The declared effect of a tool, from harmless to unlimited."""

    READ_ONLY = "read_only"
    WRITE = "write"
    EXECUTE = "execute"


def declare(effect: Effect) -> dict[str, Any]:
    """The tool metadata that declares an effect: `FunctionToolset(..., metadata=declare(Effect.READ_ONLY))`."""
    return {"effect": effect.value}


def effect_of(tool: ToolDefinition) -> Effect:
    """The effect a tool declares; a tool that declares none, or an unknown one, may do anything: `EXECUTE`."""
    declared = (tool.metadata or {}).get("effect")
    return Effect(declared) if declared in set(Effect) else Effect.EXECUTE
