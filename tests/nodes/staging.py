"""Looking into a running turn."""

from __future__ import annotations

from typing import Annotated

from pydantic_graph import Edge
from turngraph import nodes
from turngraph.flows.flow import STANDARD
from turngraph.nodes.node import Ctx
from turngraph.nodes.state import TurnState


class Window:
    """A standard flow whose first node lets its state be seen from outside."""

    def __init__(self) -> None:
        window = self
        self.state: TurnState | None = None

        class Opened(nodes.PrepareHistory):
            async def run(self, ctx: Ctx) -> Annotated[nodes.Stream, Edge("history ready")]:
                window.state = ctx.state
                return await super().run(ctx)

        self.flow = STANDARD.swap(Opened)
