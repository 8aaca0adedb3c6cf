"""Execute, without the effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic_graph import Edge

from ... import nodes
from ...tools.effects import Effect
from ..events import Notice
from ..node import Ctx
from ..results import settle
from ..slots import CallStatus

NOT_RUN = (
    "Dry run: this call was not run, and nothing was changed. Go on as if it had worked where that makes sense, and "
    "say in your answer that it was not run."
)


@dataclass
class DryRunExecute(nodes.Execute):
    """Run the calls that only read, and tell the model of each other one that it was not run.

    Trades the work for a look at it: the journal shows what a model would do, nothing is written or executed, and
    what it would do after it had seen the effects stays unknown.
    """

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("results in")]:
        state, deps = ctx.state, ctx.deps
        left_out = [slot for slot in state.session.tool_registry.open if slot.effect is not Effect.READ_ONLY]
        for slot in left_out:
            await settle(state, deps, slot, CallStatus.CANCELLED, NOT_RUN)
            await deps.sink.emit(Notice("info", f"dry run: {slot.call.tool_name} was not run"))
        not_run = {slot.position for slot in left_out}
        kept = [[position for position in batch if position not in not_run] for batch in state.batches]
        state.batches = [batch for batch in kept if batch]
        return await super().run(ctx)
