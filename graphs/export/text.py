"""Plain text: each state, its nodes, and where each leads."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from ..declared import END
from ..extract import START, FlowGraph


def text(graph: FlowGraph) -> str:
    """The graph as an indented list that fits a narrow terminal."""
    roles = [node for node in graph.nodes if node not in (START, END)]
    lines = [f"flow {graph.graph['name']}", f"start -> {_names(graph, graph.successors(START))}"]
    for state, members in groupby(roles, key=lambda role: graph.nodes[role]["state"]):
        lines += ["", state.upper()]
        for role in members:
            lines.append(f"  {graph.nodes[role]['cls']}")
            for _, target, edge in graph.out_edges(role, data=True):
                said = f"  ({edge['label']})" if edge["label"] else ""
                lines.append(f"    -> {_names(graph, [target])}{said}")
    lines += ["", "any node -> end  (on error or interrupt: sealed, then ended)"]
    return "\n".join(map(_printable, lines)) + "\n"


def _printable(line: str) -> str:
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in line)


def _names(graph: FlowGraph, nodes: Any) -> str:
    return ", ".join(graph.nodes[node]["cls"] or node for node in nodes)
