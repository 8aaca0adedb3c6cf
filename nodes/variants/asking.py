"""One whole reply of a model, and whether it can be used; for variants that ask before they show."""

from __future__ import annotations

from pydantic_ai.messages import ModelResponse, ThinkingPart

from ..checks import has_whole_args
from ..events import TextDelta, ThinkingDelta
from ..model_port import ModelPort, provider_errors
from ..node import Ctx
from ..reply import encodable, is_truncated, text_of


async def ask(ctx: Ctx, port: ModelPort) -> ModelResponse:
    """Ask a model what the turn's own would be asked, and show nothing of it yet.

    Raises:
        ProviderError: as `provider_errors`.
        UsageError: as `provider_errors`.
    """
    tools = (await ctx.deps.toolbox.manager(ctx.state)).tool_defs
    with provider_errors(port.name):
        async with port.model, port.stream(ctx.state.session.messages, tools, ctx.state.guidance) as response:
            async for _ in response:
                pass
            return response.get()


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


async def show(ctx: Ctx, reply: ModelResponse) -> None:
    """Show a reply that came whole."""
    for part in reply.parts:
        if isinstance(part, ThinkingPart) and part.content:
            await ctx.deps.sink.emit(ThinkingDelta(encodable(part.content)))
    if text := "".join(part.content for part in reply.parts if part.part_kind == "text"):
        await ctx.deps.sink.emit(TextDelta(encodable(text)))
