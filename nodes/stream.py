"""The node that asks the model, once, and passes on what arrives as it arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic_ai.messages import (
    AgentStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_graph import Edge

from .. import nodes
from .events import Event, TextDelta, ThinkingDelta
from .model_port import provider_errors
from .node import Ctx, TurnNode, go
from .reply import encodable
from .state import AgentState
from .stream_debug import StreamDebug


@dataclass
class Stream(TurnNode):
    """One model request; text and thinking go to the sink as they come."""

    role = "stream"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        state, deps = ctx.state, ctx.deps
        state.iteration += 1
        state.answer = ""
        tools = (await deps.toolbox.manager(state)).tool_defs
        debug = StreamDebug(state.request) if state.request.debug_metrics else None
        with provider_errors(deps.model.name):
            async with deps.model.stream(state.session.messages, tools, state.guidance) as response:
                async for event in response:
                    if debug is not None:
                        debug.record(event)
                    if (delta := delta_of(event)) is not None:
                        await deps.sink.emit(delta)
                state.reply = response.get()
        state.guidance = None
        if debug is not None:
            debug.log()
        return go(ctx, nodes.ProcessNode)


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
