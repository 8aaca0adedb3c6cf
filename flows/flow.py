"""A flow: which class plays which role, and the graph that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType, NoneType
from typing import Any, cast

from pydantic_graph import End, Graph, GraphBuilder
from pydantic_graph.id_types import NodeID
from pydantic_graph.step import NodeStep, StepContext

from .. import nodes
from ..graphs.declared import END, DeclaredEdge, declared_edges
from ..nodes.deps import TurnDeps
from ..nodes.errors import UndeclaredTransition, UsageError
from ..nodes.node import TurnNode, class_name
from ..nodes.outcome import Played, TurnResult
from ..nodes.state import AGENT_STATE_MACHINE, StateMachine, TurnState
from .fit import check_fit
from .identity import graph_hash, graph_shape, played_by

TurnGraph = Graph[TurnState, TurnDeps, TurnNode, TurnResult]


@dataclass(frozen=True)
class Flow:
    """A turn's graph as a value.

    `parts` are the classes that define the roles; `start` is the role a turn begins with; `swapped` maps a role to
    the variant that plays it instead. The edges are those that the playing classes declare.
    """

    name: str
    start: str
    parts: tuple[type[TurnNode], ...]
    machine: StateMachine = AGENT_STATE_MACHINE
    swapped: Mapping[str, type[TurnNode]] = field(default_factory=lambda: MappingProxyType({}))

    @cached_property
    def lineup(self) -> Mapping[str, type[TurnNode]]:
        """Role to the class that plays it, in the order of `parts`."""
        return MappingProxyType({part.role: self.swapped.get(part.role, part) for part in self.parts})

    @cached_property
    def edges(self) -> Mapping[str, tuple[DeclaredEdge, ...]]:
        """Role to its ways out; execution, checks and diagrams all read this.

        Raises:
            UsageError: an annotation cannot be read, or names a role the flow does not have; so does the start; or
                two parts have one role.
        """
        roles = [part.role for part in self.parts]
        if twice := sorted({role for role in roles if roles.count(role) > 1}):
            raise UsageError(f"the flow {self.name} has several parts with the role {twice[0]!r}; swap them in instead")
        if self.start not in roles:
            raise UsageError(
                f"the flow {self.name} starts with the role {self.start!r}, which it does not have; "
                f"its roles are {', '.join(roles)}"
            )
        edges = {role: declared_edges(cls) for role, cls in self.lineup.items()}
        for role, ways in edges.items():
            for way in ways:
                if way.to != END and way.to not in self.lineup:
                    raise UsageError(
                        f"{self.lineup[role].__qualname__} goes on to the role {way.to!r}, which the flow "
                        f"{self.name} does not have; its roles are {', '.join(self.lineup)}"
                    )
        return MappingProxyType(edges)

    @cached_property
    def played(self) -> Mapping[str, Played]:
        """Role to the class that plays it, with the hash of its source, as journals and results tell it."""
        return MappingProxyType({role: played_by(cls) for role, cls in self.lineup.items()})

    @cached_property
    def shape(self) -> Mapping[str, Any]:
        """The graph as plain JSON: roles, states, edges and state machine.

        Raises:
            UsageError: as `edges`.
        """
        return MappingProxyType(graph_shape(self.start, self.lineup, self.edges, self.machine))

    @cached_property
    def graph_hash(self) -> str:
        """Tells whether two flows have the same graph.

        Raises:
            UsageError: as `edges`.
        """
        return graph_hash(dict(self.shape))

    @cached_property
    def graph(self) -> TurnGraph:
        """The pydantic-graph graph that runs."""
        builder = GraphBuilder(
            name=self.name,
            state_type=TurnState,
            deps_type=TurnDeps,
            input_type=TurnNode,
            output_type=TurnResult,
            auto_instrument=False,
        )
        steps = {role: _Played(cls, id=NodeID(role)) for role, cls in self.lineup.items()}
        targets: dict[str, Any] = {**steps, END: builder.end_node}
        builder.add(builder.edge_from(builder.start_node).to(steps[self.start]))
        for role, ways in self.edges.items():
            source = builder.edge_from(steps[role])
            if len(ways) == 1:
                builder.add(source.to(targets[ways[0].to]))
                continue
            # pydantic-graph follows the node that `run` returns; the decision only tells the builder the edges.
            decision: Any = builder.decision()
            for way in ways:
                decision = decision.branch(builder.match(NoneType).to(targets[way.to]))
            builder.add(source.to(decision))
        return builder.build()

    def swap(self, variant: type[TurnNode]) -> Flow:
        """This flow with a variant in its role.

        Raises:
            UsageError: the variant has no role, or one that the flow does not have, or it cannot play it
                (`flows.fit.check_fit`).
        """
        role = getattr(variant, "role", None)
        if role not in self.lineup:
            raise UsageError(
                f"{variant.__qualname__} has the role {role!r}, which the flow {self.name} does not have; "
                f"its roles are {', '.join(self.lineup)}"
            )
        check_fit(variant, next(part for part in self.parts if part.role == role))
        return replace(self, swapped=MappingProxyType({**self.swapped, role: variant}))


class _Played(NodeStep[TurnState, TurnDeps]):
    """A node's step in the graph; it names the node that returns no node, which pydantic-graph does not."""

    async def _call_node(self, ctx: StepContext[TurnState, TurnDeps, Any]) -> Any:
        successor: object = await super()._call_node(ctx)
        if not isinstance(successor, TurnNode | End):
            raise UndeclaredTransition(
                f"{class_name(cast(type[TurnNode], self.node_type))} returned {successor!r}, which is no node; "
                "return go(ctx, ...) or End(...)"
            )
        return successor


STANDARD = Flow(
    name="standard",
    start=nodes.PrepareHistory.role,
    parts=(
        nodes.PrepareHistory,
        nodes.Stream,
        nodes.ProcessNode,
        nodes.Dispatch,
        nodes.Execute,
        nodes.Persist,
    ),
)
