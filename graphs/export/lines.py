"""Plain lines: each state, its nodes, and where each leads. Any graph fits."""

from __future__ import annotations

from ..declared import START
from ..extract import FlowGraph, by_state
from .wording import caption, edge_lines, name_of, on_error_lines, remarks, state_title


def lines(graph: FlowGraph) -> str:
    """The graph as an indented list that fits a narrow terminal."""
    kind = "graph" if graph.graph["machine"] is None else "flow"
    first = ", ".join(dict.fromkeys(name_of(graph, node) for node in graph.successors(START)))
    written = [f"{kind} {caption(graph)}", f"start -> {first}"]
    for state, members in by_state(graph).items():
        written += ["", *([] if state is None else [state_title(state)])]
        for node in members:
            more = [*_marks(graph.nodes[node].get("tone")), *remarks(graph.nodes[node])]
            written.append(f"  {name_of(graph, node)}{_bracketed(more)}")
            for _, target, edge in graph.out_edges(node, data=True):
                more = [*_marks(edge.get("tone")), *edge_lines(edge)]
                written.append(f"    -> {name_of(graph, target)}{_bracketed(more)}")
    ending = on_error_lines(graph)
    return "\n".join([*written, *([""] if ending else []), *ending]) + "\n"


def _marks(tone: str | None) -> list[str]:
    return [tone] if tone in ("added", "removed", "changed") else []


def _bracketed(parts: list[str]) -> str:
    said = "; ".join(dict.fromkeys(parts))
    return f"  ({said})" if said else ""
