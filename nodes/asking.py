"""One whole reply of a model: received once, written down, and shown as it comes or afterwards."""

from __future__ import annotations

from pydantic_ai.messages import (
    AgentStreamEvent,
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)

from .errors import ProviderError
from .events import Event, TextDelta, ThinkingDelta
from .model_port import ModelPort, provider_errors
from .node import Ctx
from .reply import encodable
from .stream_debug import StreamDebug


async def ask(
    ctx: Ctx, port: ModelPort, *, live: bool = False, about: list[ModelMessage] | None = None
) -> tuple[ModelResponse, int]:
    """Ask a model for its reply to the history, or without tools `about` something else; the reply, and its row.

    A reply that an earlier run of the node received already is handed out again, and nothing is asked. With `live`,
    text and thinking go to the sink as they come.

    Raises:
        ProviderError: as `provider_errors`.
        UsageError: as `provider_errors`.
        StoreError: the reply could not be written.
    """
    state, deps = ctx.state, ctx.deps
    known = deps.past.reply(state)
    if known is not None:
        if live:
            await show(ctx, known[0])
        return known
    tools = (await deps.toolbox.manager(state)).tool_defs if about is None else []
    request = (state.session.messages, tools, state.guidance) if about is None else (about, tools, None)
    debug = StreamDebug(state.request) if state.request.debug_metrics else None
    try:
        with provider_errors(port.name):
            async with port.stream(*request) as response:
                async for event in response:
                    if debug is not None:
                        debug.record(event)
                    if live and (delta := delta_of(event)) is not None:
                        await deps.sink.emit(delta)
                reply: ModelResponse = deps.secrets.redact_data(response.get())
    except ProviderError as error:
        deps.log.failure(error)
        raise
    if debug is not None:
        debug.log()
    return reply, deps.log.message(reply)


def delta_of(event: AgentStreamEvent) -> Event | None:
    """What a person sees of a stream's event: new text, new thinking, or nothing."""
    match event:
        case PartStartEvent(part=TextPart(content=text)) if text:
            return TextDelta(encodable(text))
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            return TextDelta(encodable(text))
        case PartStartEvent(part=ThinkingPart(content=text)) if text:
            return ThinkingDelta(encodable(text))
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)) if text:
            return ThinkingDelta(encodable(text))
        case _:
            return None


async def show(ctx: Ctx, reply: ModelResponse) -> None:
    """Show a reply that came whole."""
    for part in reply.parts:
        if isinstance(part, ThinkingPart) and part.content:
            await ctx.deps.sink.emit(ThinkingDelta(encodable(part.content)))
    if text := "".join(part.content for part in reply.parts if isinstance(part, TextPart)):
        await ctx.deps.sink.emit(TextDelta(encodable(text)))
