"""Whether a reply can be used; for variants that ask before they show."""

from __future__ import annotations

from pydantic_ai.messages import ModelResponse

from ..checks import has_whole_args
from ..node import Ctx
from ..reply import is_truncated, text_of


async def fault_of(ctx: Ctx, reply: ModelResponse) -> str | None:
    """What makes a reply unusable, in words, or `None`."""
    if not reply.tool_calls:
        if not text_of(reply):
            return "was empty"
        return "was cut off" if is_truncated(reply, ctx.deps.limits.max_tokens) else None
    offered = {tool.name for tool in (await ctx.deps.toolbox.manager(ctx.state)).tool_defs}
    for call in reply.tool_calls:
        if call.tool_name not in offered:
            return f"called {call.tool_name}, which is no tool"
        if not has_whole_args(call):
            return f"called {call.tool_name} with broken arguments"
    return None
