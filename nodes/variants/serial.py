"""Execute, one call after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic_graph import Edge

from ... import nodes
from ..node import Ctx


@dataclass
class SerialExecute(nodes.Execute):
    """Run the calls of a reply one by one, in its order within each kind.

    Trades time for order: what was run before what can be told, and a server or a disk that suffers under many
    readers is spared. The calls that only read still come before those that change something.
    """

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("results in")]:
        ctx.state.batches = [[position] for batch in ctx.state.batches for position in batch]
        return await super().run(ctx)
