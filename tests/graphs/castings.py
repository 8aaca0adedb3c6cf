"""Nodes and flows made up for tests of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic_graph import Edge, End
from turngraph import nodes
from turngraph.graphs.declared import END
from turngraph.graphs.extract import START, FlowGraph, add, empty
from turngraph.graphs.overlay import Run, Spend
from turngraph.nodes.deps import Visit
from turngraph.nodes.node import Ctx, TurnNode
from turngraph.nodes.outcome import TurnResult
from turngraph.nodes.state import AGENT_STATE_MACHINE, AgentState, StateMachine


def drawn(
    *edges: tuple[str, str],
    states: dict[str, str] | None = None,
    machine: StateMachine | None = AGENT_STATE_MACHINE,
) -> FlowGraph:
    """A graph of these edges, all labelled; every node is in the state ASSISTANT unless it is said otherwise."""
    graph = empty("made up", machine)
    for node in dict.fromkeys(node for edge in edges for node in edge):
        if node not in (START, END):
            state = (states or {}).get(node, AgentState.ASSISTANT)
            add(graph, node, node.title(), kind="node", state=str(state) if machine else None)
    add(graph, END, None, kind="end")
    for source, target in edges:
        graph.add_edge(source, target, label=f"{source} to {target}")
    return graph


def a_turn() -> Run:
    """A turn of three iterations: it looked, edited, and answered."""
    steps = [("prepare_history", "stream", 4.0)]
    for stream, execute in ((2210.0, 38.0), (4830.0, 212.0)):
        steps += [("stream", "process_node", stream), ("process_node", "dispatch", 0.8), ("dispatch", "execute", 1.9)]
        steps += [("execute", "persist", execute), ("persist", "stream", 2.4)]
    steps += [("stream", "process_node", 1640.0), ("process_node", "persist", 0.7), ("persist", END, 3.1)]
    visits = tuple(Visit(number, one, "", 1, two, ms) for number, (one, two, ms) in enumerate(steps, 1))
    tokens = ((5120, 96), (5480, 410), (6010, 152))
    return Run("t", visits, tuple(Spend("stream", *pair, Decimal("0.0112")) for pair in tokens))


@dataclass
class Critic(TurnNode):
    """Reads the reply once more."""

    role = "critic"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("read")]:
        return nodes.Persist()


@dataclass
class ToCritic(TurnNode):
    """Hands every reply to the critic."""

    role = "process_node"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[Critic, Edge("to read")]:
        return Critic()


@dataclass
class Bare(TurnNode):
    """Goes on without a label."""

    role = "stream"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> nodes.ProcessNode | Annotated[End[TurnResult], Edge("at once")]:
        return nodes.ProcessNode()


@dataclass
class Silent(TurnNode):
    role = "stream"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx):  # type: ignore[no-untyped-def]
        return nodes.ProcessNode()


@dataclass
class Lost(TurnNode):
    role = "stream"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Nowhere:  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore
        return None


@dataclass
class Wrong(TurnNode):
    role = "stream"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Any:
        return 7
