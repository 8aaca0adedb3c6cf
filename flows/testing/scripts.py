"""What a model may say and tools may do in a turn: the situations that every node must stand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import anyio
import anyio.lowlevel
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from ...nodes.errors import ProviderError
from ...tools.effects import Effect, declare
from .model import Reply


@dataclass(frozen=True)
class Script:
    """A name, and a model's replies in order."""

    name: str
    replies: tuple[Reply, ...]


def _call(name: str, **args: Any) -> ToolCallPart:
    return ToolCallPart(name, args)


SCRIPTS = (
    Script("an answer", ("Hello.",)),
    Script("an answer after thinking", (("thinking:hm", "Hello."),)),
    Script("a call", (_call("look", n=1), "Done.")),
    Script("many calls", ((_call("look", n=1), _call("look", n=2), _call("change", n=3), "and"), "Done.")),
    Script("calls of a tool that fails", ((_call("trip"), _call("look", n=1)), _call("trip"), "Done.")),
    Script("a call of no tool", (_call("nothing"), "Done.")),
    Script("a call with wrong arguments", ((_call("look", n="many"), _call("change")), "Done.")),
    Script("a call with broken arguments", (ToolCallPart("look", '{"n": 1'), "Done.")),
    Script("a call in the text", ('<tool_call>{"name": "look", "arguments": {"n": 1}}</tool_call>', "Done.")),
    Script("an empty reply", ("", "Done.")),
    Script("a reply that breaks off", ("It is as foll...", "Done.")),
    Script("nothing but empty replies", ("",) * 10),
    Script("calls without an end", (_call("look", n=1),) * 10),
    Script("a server that fails", (_call("look", n=1), ProviderError("the server is down"))),
)


@cache
def tools() -> AbstractToolset[Any]:
    """What the scripts call: `look` and `trip` only read, `change` writes; each takes a moment."""

    async def look(n: int) -> str:
        await anyio.lowlevel.checkpoint()
        return f"saw {n}"

    async def trip() -> str:
        await anyio.lowlevel.checkpoint()
        raise ModelRetry("it tripped")

    async def change(n: int) -> str:
        await anyio.lowlevel.checkpoint()
        return f"changed {n}"

    toolset = FunctionToolset[Any]()
    toolset.add_function(look, metadata=declare(Effect.READ_ONLY))
    toolset.add_function(trip, metadata=declare(Effect.READ_ONLY))
    toolset.add_function(change, metadata=declare(Effect.WRITE))
    return toolset
