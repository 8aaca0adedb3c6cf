"""What a drawing says at a node or an edge, the same in every format."""

from __future__ import annotations

from typing import Any

from ..declared import END
from ..extract import FlowGraph
from ..figures import Totals, totals_line

ANY = "any node"
ON_ERROR = "on error"

_SHAPES = {"fork": "fork", "map": "for each", "join": "join"}


def visible(text: str) -> str:
    """Text in which nothing is hidden: controls, line breaks and what has no form in UTF-8 as their escapes."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def name_of(graph: FlowGraph, node: str) -> str:
    """What a node is called on a drawing."""
    data = graph.nodes[node]
    if data["cls"] is None:
        return node
    name = visible(data["cls"]).strip() or "(no name)"
    kind = _SHAPES.get(data["kind"])
    return name if kind is None or name == kind else f"{kind}: {name}"


def node_lines(graph: FlowGraph, node: str) -> list[str]:
    return [name_of(graph, node), *remarks(graph.nodes[node])]


def edge_lines(edge: dict[str, Any]) -> list[str]:
    label = visible(edge["label"] or "").strip()
    return [*([label] if label else []), *remarks(edge)]


def remarks(data: dict[str, Any]) -> list[str]:
    return [visible(remark) for remark in data.get("remarks", ())]


def on_error(graph: FlowGraph) -> str | None:
    """The label of the arrow from any node to the end, which only turns have: every one is sealed, then ended."""
    if graph.graph["machine"] is None:
        return None
    totals: Totals | None = graph.graph.get("totals")
    return ON_ERROR if totals is None or not totals.failed else f"{ON_ERROR}, {totals.failed} x"


def on_error_lines(graph: FlowGraph) -> list[str]:
    """The same in a line of text, of a turn."""
    if graph.graph["machine"] is None:
        return []
    totals: Totals | None = graph.graph.get("totals")
    count = f"; {totals.failed} x" if totals is not None and totals.failed else ""
    return [f"{ANY} -> {END}  ({ON_ERROR} or interrupt: sealed, then ended{count})"]


def caption(graph: FlowGraph) -> str:
    """The name of the graph, and what happened on it."""
    totals: Totals | None = graph.graph.get("totals")
    name = visible(str(graph.graph["name"]))
    return name if totals is None else f"{name}: {totals_line(totals)}"


def state_title(state: str | None) -> str:
    return visible(str(state)).upper()
