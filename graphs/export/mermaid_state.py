"""Mermaid: a state diagram whose composite states are the states of the machine."""

from __future__ import annotations

from ..declared import END, START
from ..extract import FlowGraph, by_state
from .mermaid import escape, node_ids
from .wording import ANY, edge_lines, node_lines, on_error, state_title


def mermaid_state(graph: FlowGraph) -> str:
    """The graph as a Mermaid state diagram, read from top to bottom."""
    ids = node_ids(graph) | {START: "[*]", END: "[*]"}
    lines = ["stateDiagram-v2", "    direction TB"]
    for number, (state, members) in enumerate(by_state(graph).items()):
        indent = "    " if state is None else "        "
        if state is not None:
            lines.append(f'    state "{escape(state_title(state))}" as s{number} {{')
        for node in members:
            lines.append(f'{indent}state "{", ".join(map(escape, node_lines(graph, node)))}" as {ids[node]}')
        if state is not None:
            lines.append("    }")
    for source, target, edge in graph.edges(data=True):
        said = ", ".join(map(escape, edge_lines(edge))).replace(":", "#58;")
        lines.append(f"    {ids[source]} --> {ids[target]}{f' : {said}' if said else ''}")
    if (failing := on_error(graph)) is not None:
        lines += [f'    state "{ANY}" as any', f"    any --> [*] : {failing}"]
    return "\n".join(lines) + "\n"
