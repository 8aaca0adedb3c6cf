"""Two graphs compared: what one has and the other has not, and one drawing of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .extract import FlowGraph, inner_nodes
from .figures import NodeFigures, duration


@dataclass(frozen=True)
class NodeChange:
    """A node that is in one graph only (the other's side is `None`), or is another class or in another state."""

    node: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class EdgeChange:
    """An edge that is in one graph only, or whose label differs."""

    source: str
    target: str
    kind: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class GraphDiff:
    """What `after` has that `before` has not, and the other way round."""

    before: str
    after: str
    nodes: tuple[NodeChange, ...]
    edges: tuple[EdgeChange, ...]

    def __bool__(self) -> bool:
        return bool(self.nodes or self.edges)


def compare(before: FlowGraph, after: FlowGraph) -> GraphDiff:
    """The differences, in the order of `after` and then of `before`."""
    nodes: list[NodeChange] = []
    for node in _both(inner_nodes(after), inner_nodes(before)):
        moved = node in before and node in after and before.nodes[node]["state"] != after.nodes[node]["state"]
        one, two = _described(before, node, moved), _described(after, node, moved)
        if one != two:
            nodes.append(NodeChange(node, one, two))
    edges: list[EdgeChange] = []
    for source, target in _both(list(after.edges()), list(before.edges())):
        old, new = _labels(before, source, target), _labels(after, source, target)
        for label in list(new):
            if label in old:
                old.remove(label)
                new.remove(label)
        relabelled = min(len(old), len(new))
        edges += [EdgeChange(source, target, "changed", *pair) for pair in zip(old, new, strict=False)]
        edges += [EdgeChange(source, target, "added", None, label) for label in new[relabelled:]]
        edges += [EdgeChange(source, target, "removed", label, None) for label in old[relabelled:]]
    return GraphDiff(before.graph["name"], after.graph["name"], tuple(nodes), tuple(edges))


def merged(before: FlowGraph, after: FlowGraph) -> FlowGraph:
    """One graph to draw: all of `after`, what is only in `before`, and each change as `tone` and `remarks`.

    With runs on both graphs, the remarks are the deltas of the figures.
    """
    found = compare(before, after)
    drawn = after.copy()
    drawn.graph["name"] = f"{found.before} -> {found.after}" if found.before != found.after else found.after
    for _, data in drawn.nodes(data=True):
        data.update(tone=None, remarks=(), weight=0.0)
    for _, _, edge in drawn.edges(data=True):
        edge.update(tone=None, remarks=(), weight=0.0)
    for change in found.nodes:
        if change.after is None:
            drawn.add_node(change.node, **{**before.nodes[change.node], "tone": "removed", "remarks": ("removed",)})
        elif change.before is None:
            drawn.nodes[change.node].update(tone="added", remarks=("added",))
        else:
            old = before.nodes[change.node]
            same = old["cls"] == drawn.nodes[change.node]["cls"]
            was = change.before if same else old["cls"]
            drawn.nodes[change.node].update(tone="changed", remarks=(f"was {was}",))
    for change in found.edges:
        if change.kind == "removed":
            drawn.add_edge(change.source, change.target, label=change.before, tone="removed", remarks=(), weight=0.0)
            continue
        key = next(
            number
            for number, edge in drawn[change.source][change.target].items()
            if edge["label"] == change.after and edge["tone"] is None
        )
        remarks = (f"was: {change.before or 'no label'}",) if change.kind == "changed" else ()
        drawn.edges[change.source, change.target, key].update(tone=change.kind, remarks=remarks)
    for node in inner_nodes(drawn):
        drawn.nodes[node]["remarks"] += tuple(deltas(before, after, node))
    return drawn


def deltas(before: FlowGraph, after: FlowGraph, node: str) -> list[str]:
    """How a node's figures differ, in words; nothing where one of the graphs has no run of it."""
    one: NodeFigures | None = before.nodes[node].get("figures") if node in before else None
    two: NodeFigures | None = after.nodes[node].get("figures") if node in after else None
    if one is None or two is None or not (one.visits or two.visits):
        return []
    lines = [f"visits {one.visits} -> {two.visits}", f"p50 {duration(one.p50_ms)} -> {duration(two.p50_ms)}"]
    if one.requests or two.requests:
        old, new = one.input_tokens + one.output_tokens, two.input_tokens + two.output_tokens
        lines.append(f"tokens {old:,} -> {new:,}")
    if one.errors or two.errors:
        lines.append(f"failed {one.errors} -> {two.errors}")
    return lines


def _both(first: list[Any], second: list[Any]) -> list[Any]:
    return list(dict.fromkeys([*first, *second]))


def _described(graph: FlowGraph, node: str, with_state: bool) -> str | None:
    """A node's class, with its module, which tells classes of one name apart; and its state where that has changed."""
    if node not in graph:
        return None
    data = graph.nodes[node]
    module = getattr(data["definition"], "__module__", None)
    name = f"{data['cls']} ({module})" if module else str(data["cls"])
    return f"{name} in {data['state']}" if with_state else name


def _labels(graph: FlowGraph, source: str, target: str) -> list[str | None]:
    if not graph.has_edge(source, target):
        return []
    return [edge["label"] for edge in graph[source][target].values()]
