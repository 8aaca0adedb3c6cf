"""How two graphs differ, in lines for a person or as one JSON document."""

from __future__ import annotations

import json
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from ...graphs.diff import EdgeChange, NodeChange, compare, deltas
from ...graphs.extract import FlowGraph, inner_nodes
from .terminal import visible


def as_text(before: FlowGraph, after: FlowGraph) -> str:
    found = compare(before, after)
    lines = [f"{found.before} -> {found.after}" if found.before != found.after else found.after]
    lines += [f"  {_node(change)}" for change in found.nodes]
    lines += [f"  {_edge(change)}" for change in found.edges]
    if not found:
        lines.append("  the same nodes and edges")
    for node in _both(before, after):
        if said := deltas(before, after, node):
            lines.append(f"  {node}: {', '.join(said)}")
    return "\n".join(map(visible, lines))


def as_json(before: FlowGraph, after: FlowGraph) -> str:
    found = compare(before, after)
    document = {
        "schema": "turngraph.graph-diff/1",
        "before": found.before,
        "after": found.after,
        "nodes": [{"id": one.node, "before": one.before, "after": one.after} for one in found.nodes],
        "edges": [
            {"from": one.source, "to": one.target, "change": one.kind, "before": one.before, "after": one.after}
            for one in found.edges
        ],
        "figures": {
            node: {"before": _figures(before, node), "after": _figures(after, node)}
            for node in _both(before, after)
            if _figures(before, node) or _figures(after, node)
        },
    }
    return json.dumps(document, indent=2)


def _both(before: FlowGraph, after: FlowGraph) -> list[str]:
    return list(dict.fromkeys([*inner_nodes(after), *inner_nodes(before)]))


def _node(change: NodeChange) -> str:
    if change.before is None:
        return f"added    {change.node}: {change.after}"
    if change.after is None:
        return f"removed  {change.node}: {change.before}"
    return f"changed  {change.node}: {change.before} -> {change.after}"


def _edge(change: EdgeChange) -> str:
    labels = [label or "no label" for label in (change.before, change.after)]
    said = {"added": labels[1], "removed": labels[0], "changed": " -> ".join(labels)}[change.kind]
    return f"{change.kind:8} {change.source} -> {change.target}  ({said})"


def _figures(graph: FlowGraph, node: str) -> dict[str, Any] | None:
    figures = graph.nodes[node].get("figures") if node in graph else None
    if figures is None:
        return None
    return {name: str(value) if isinstance(value, Decimal) else value for name, value in asdict(figures).items()}
