"""Stream, cheap first: a second model answers where the first one did not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_graph import Edge

from ... import nodes
from ..asking import ask, show
from ..errors import ProviderError
from ..events import Notice
from ..model_port import ModelPort
from ..node import Ctx, go
from ..usage import count_usage
from .fault import fault_of
from .setting import with_settings


@dataclass
class Cascade(nodes.Stream):
    """Ask a cheap model first, and the turn's own where its reply is empty, cut off, a broken call or a failure.

    Trades judgement for money: a reply that is whole but wrong is taken. What the cheap model says appears in one
    piece, and a request that it fails costs its time on top. Its connection is opened anew for each request.
    """

    cheap: ClassVar[Model]

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        state = ctx.state
        state.iteration += 1
        state.answer = ""
        received = await self.cheap_reply(ctx)
        if received is None:
            state.iteration -= 1  # the standard node counts it
            return await super().run(ctx)
        await show(ctx, received[0])
        state.reply, state.reply_row = received
        state.guidance = None
        return go(ctx, nodes.ProcessNode)

    async def cheap_reply(self, ctx: Ctx) -> tuple[ModelResponse, int] | None:
        """The cheap model's reply, and its row, if it can be used; its cost is counted in any case."""
        port = ctx.deps.model.beside(self.cheap)
        try:
            async with port.model:
                reply, row = await ask(ctx, port)
        except ProviderError as error:
            await self.escalate(ctx, str(error))
            return None
        fault = await fault_of(ctx, reply)
        if fault is None:
            return reply, row
        count_usage(ctx.state, reply)
        await self.escalate(ctx, f"the reply of {port.name} {fault}")
        return None

    async def escalate(self, ctx: Ctx, why: str) -> None:
        await ctx.deps.sink.emit(Notice("info", f"{why}; asking {ctx.deps.model.name}"))


def cascade(cheap_model: Model) -> type[Cascade]:
    """A `Cascade` that begins with this model."""
    return with_settings(Cascade, ModelPort(cheap_model).name, cheap=cheap_model)
