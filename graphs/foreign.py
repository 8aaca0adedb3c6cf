"""Any graph of pydantic-graph as the same networkx graph: node classes, steps, decisions, forks and joins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic_graph import End, Graph
from pydantic_graph.decision import Decision
from pydantic_graph.join import Join, JoinNode
from pydantic_graph.node import EndNode, Fork, StartNode
from pydantic_graph.paths import DestinationMarker, LabelMarker, Path
from pydantic_graph.step import NodeStep, Step, StepNode
from pydantic_graph.util import unpack_type_expression

from ..nodes.errors import UsageError
from .annotations import alternatives
from .declared import END, START
from .extract import FlowGraph, add, empty

AnyGraph = Graph[Any, Any, Any, Any]


def _is(node: Any, *kinds: Any) -> bool:
    """`isinstance`, after which the node's type parameters are still of no interest."""
    return isinstance(node, kinds)


def extract_graph(graph: AnyGraph, name: str) -> FlowGraph:
    """The graph that pydantic-graph would run, in the form that `extract` gives a flow; nodes have no state.

    A decision that pydantic-graph makes up for the alternatives of an annotation is not a node here: its branches
    are the edges, with the labels of the annotation. An annotation that cannot be read costs labels, not edges; it is
    told in the graph's `notes`.
    """
    ids = _ids(graph)
    made_up = set(_made_up(graph))
    notes: list[str] = []
    drawn = empty(graph.name or name, None)
    for node_id, node in graph.nodes.items():
        if node_id not in made_up and not _is(node, StartNode, EndNode):
            shown, kind, definition = _described(node)
            add(drawn, ids[node_id], shown, kind=kind, definition=definition)
    add(drawn, END, None, kind="end")
    nodes: dict[str, Any] = {**graph.nodes}
    names = dict(_names(nodes))
    for node_id, node in nodes.items():
        if node_id in made_up:
            continue
        said = _annotated(node, names, notes) if _is(node, NodeStep) or _leads_to(graph, node_id, made_up) else {}
        for target, label in _ways(graph, node_id):
            if target in made_up:
                targets = [str(way) for branch in nodes[target].branches for way, _ in _destination(branch.path)]
            else:
                targets = [target]
            for one in targets:
                labels = said.get(one)
                drawn.add_edge(ids[node_id], ids[one], label=label or (labels.pop(0) if labels else None))
    drawn.graph["notes"] = tuple(notes)
    return drawn


def _ids(graph: AnyGraph) -> dict[str, str]:
    """The id of each node in the drawing: its own, unless `START` or `END` has it."""
    taken = {START, END}
    ids: dict[str, str] = {StartNode.id: START, EndNode.id: END}
    for node_id in graph.nodes:
        if node_id in ids:
            continue
        free = str(node_id)
        while free in taken or (free != node_id and free in graph.nodes):
            free += " (node)"
        taken.add(free)
        ids[node_id] = free
    return ids


def _made_up(graph: AnyGraph) -> Iterator[str]:
    """The decisions that stand for the alternatives of an annotation: nothing is matched against None but there."""
    nodes: dict[str, Any] = {**graph.nodes}
    for node_id in graph.nodes:
        ways = [target for target, _ in _ways(graph, node_id)]
        target: Any = nodes.get(ways[0]) if len(ways) == 1 else None
        if _is(target, Decision) and _is(graph.nodes[node_id], Step) and target.note is None:
            branches = target.branches
            if branches and all(branch.source is NoneType and branch.matches is None for branch in branches):
                yield target.id


def _ways(graph: AnyGraph, node_id: Any) -> Iterator[tuple[str, str | None]]:
    for path in graph.edges_by_source.get(node_id, []):
        yield from _destination(path)
    node: Any = graph.nodes[node_id]
    if _is(node, Decision):
        for branch in node.branches:
            for target, label in _destination(branch.path):
                yield target, label or _matched(branch.source, branch.matches)


def _destination(path: Path) -> Iterator[tuple[str, str | None]]:
    labels = [item.label for item in path.items if isinstance(item, LabelMarker)]
    for item in path.items:
        if isinstance(item, DestinationMarker):
            yield item.destination_id, ", ".join(labels) or None


def _matched(source: Any, matches: Any) -> str:
    """What a branch of a decision takes, in words: the type, and the name of its test."""
    kind = unpack_type_expression(source)
    literals = get_args(kind)
    if literals and not isinstance(kind, type) and get_origin(kind) is not None:
        shown = " | ".join(one.__name__ if isinstance(one, type) else repr(one) for one in literals)
    else:
        shown = getattr(kind, "__name__", str(kind))
    test = getattr(matches, "__name__", "<lambda>") if matches is not None else "<lambda>"
    return shown if test == "<lambda>" else f"{shown}, {test}"


def _described(node: Any) -> tuple[str, str, Any]:
    """The name a node is shown by, its kind, and the class or function behind it."""
    if _is(node, NodeStep):
        return node.label or node.node_type.__name__, "node", node.node_type
    if _is(node, Step):
        return node.label or str(node.id), "step", node.call
    if _is(node, Join):
        return str(node.id), "join", node.reducer
    if _is(node, Fork):
        return str(node.id), "map" if node.is_map else "fork", None
    return node.note or str(node.id), "decision", None


def _names(nodes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What an annotation may name that its module does not have, since a function made the graph."""
    for node_id, node in nodes.items():
        if _is(node, NodeStep):
            yield node.node_type.__name__, node.node_type
        elif _is(node, Step, Join):
            yield str(node_id), node


def _leads_to(graph: AnyGraph, node_id: str, targets: set[str]) -> bool:
    return any(target in targets for target, _ in _ways(graph, node_id))


def _annotated(node: Any, names: Mapping[str, Any], notes: list[str]) -> dict[str, list[str | None]]:
    """The labels that the return annotation of a node class or a step gives, for each id it leads to."""
    labels: dict[str, list[str | None]] = {}
    target: Any
    function: Any = node.node_type.run if _is(node, NodeStep) else node.call
    name = f"{function.__module__}.{function.__qualname__}"
    try:
        try:
            found = alternatives(function, name)
        except UsageError:
            found = alternatives(function, name, names)
    except UsageError as error:
        notes.append(f"labels are missing: {error}")
        return labels
    for one in found:
        target = None
        if one.target is End:
            target = EndNode.id
        elif one.target in (StepNode, JoinNode):
            target = next((extra.id for extra in one.extras if _is(extra, Step, Join)), None)
        elif hasattr(one.target, "get_node_id"):
            target = one.target.get_node_id()
        labels.setdefault(str(target), []).append(one.label)
    return labels
