"""A flow as a networkx graph: what rules check and exports draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import networkx as nx

from ..nodes.node import TurnNode
from ..nodes.state import StateMachine
from .declared import END, START, DeclaredEdge
from .source import docstring_of

FlowGraph: TypeAlias = "nx.MultiDiGraph[str]"


class Drawable(Protocol):
    """What of a flow can be seen."""

    @property
    def name(self) -> str: ...
    @property
    def start(self) -> str: ...
    @property
    def parts(self) -> Sequence[type[TurnNode]]: ...
    @property
    def machine(self) -> StateMachine: ...
    @cached_property
    def lineup(self) -> Mapping[str, type[TurnNode]]: ...
    @cached_property
    def edges(self) -> Mapping[str, tuple[DeclaredEdge, ...]]: ...


def extract(flow: Drawable) -> FlowGraph:
    """The flow's graph, nodes and edges in the order they are declared.

    The graph has `name` and `machine` (`None` for a graph without states); a node has `cls` (the name it is shown
    by), `state`, `kind`, `doc` (the first line of its docstring) and `definition` (the class or function behind it);
    an edge has `label`. `START` and `END` are nodes without a state.
    """
    edges = flow.edges
    graph = empty(flow.name, flow.machine)
    for role, cls in flow.lineup.items():
        add(graph, role, cls.__name__, kind="node", state=str(cls.state), definition=cls)
    add(graph, END, None, kind="end")
    graph.add_edge(START, flow.start, label=None)
    for role, ways in edges.items():
        for way in ways:
            graph.add_edge(role, way.to, label=way.label)
    return graph


def empty(name: str, machine: StateMachine | None) -> FlowGraph:
    """A graph that has `START` and nothing else."""
    graph: FlowGraph = nx.MultiDiGraph(name=name, machine=machine)
    add(graph, START, None, kind="start")
    return graph


def add(
    graph: FlowGraph, node: str, cls: str | None, *, kind: str, state: str | None = None, definition: Any = None
) -> None:
    """Add a node with all that a node has."""
    doc = docstring_of(definition).partition("\n")[0]
    graph.add_node(node, cls=cls, state=state, kind=kind, doc=doc, definition=definition)


def inner_nodes(graph: FlowGraph) -> list[str]:
    """All nodes but `START` and `END`."""
    return [node for node in graph.nodes if node not in (START, END)]


def by_state(graph: FlowGraph) -> dict[str | None, list[str]]:
    """The inner nodes of each state, states in the order in which the nodes name them."""
    groups: dict[str | None, list[str]] = {}
    for node in inner_nodes(graph):
        groups.setdefault(graph.nodes[node]["state"], []).append(node)
    return groups
