"""A flow as a networkx graph: what rules check and exports draw."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Protocol, TypeAlias

import networkx as nx

from ..nodes.node import TurnNode
from ..nodes.state import StateMachine
from .declared import END, DeclaredEdge

START = "start"
"""The id of the beginning of a turn in every graph and export."""

FlowGraph: TypeAlias = "nx.MultiDiGraph[str]"


class Drawable(Protocol):
    """What of a flow can be seen."""

    @property
    def name(self) -> str: ...
    @property
    def start(self) -> str: ...
    @property
    def machine(self) -> StateMachine: ...
    @cached_property
    def lineup(self) -> Mapping[str, type[TurnNode]]: ...
    @cached_property
    def edges(self) -> Mapping[str, tuple[DeclaredEdge, ...]]: ...


def extract(flow: Drawable) -> FlowGraph:
    """The flow's graph, nodes and edges in the order they are declared.

    The graph has `name` and `machine`; a node of a role has `cls` (its class's name), `state` and `doc` (the first
    line of its docstring); an edge has `label`. `START` and `END` are nodes without a state.
    """
    edges = flow.edges
    graph: FlowGraph = nx.MultiDiGraph(name=flow.name, machine=flow.machine)
    graph.add_node(START, cls=None, state=None, doc="")
    for role, cls in flow.lineup.items():
        doc = (cls.__doc__ or "").strip().splitlines()
        graph.add_node(role, cls=cls.__name__, state=str(cls.state), doc=doc[0] if doc else "")
    graph.add_node(END, cls=None, state=None, doc="")
    graph.add_edge(START, flow.start, label=None)
    for role, ways in edges.items():
        for way in ways:
            graph.add_edge(role, way.to, label=way.label)
    return graph
