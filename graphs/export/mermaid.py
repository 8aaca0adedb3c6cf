"""Mermaid: a flowchart whose subgraphs are the states.

Ids are generated, since names such as `end` or `call` break Mermaid as ids; labels are quoted, and what its quoted
strings do not take is written as an entity code (https://mermaid.js.org/syntax/flowchart.html).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..declared import END, START
from ..extract import FlowGraph, by_state
from .wording import ANY, edge_lines, node_lines, on_error, state_title

_BRACKETS = {"decision": ("{", "}"), "fork": ("{{", "}}"), "map": ("{{", "}}"), "join": ("{{", "}}")}
_TONES = {
    "never": "stroke-dasharray:4 4,opacity:0.6",
    "added": "stroke:#1a7f37,stroke-width:3px",
    "removed": "stroke:#cf222e,stroke-width:2px,stroke-dasharray:4 4",
    "changed": "stroke:#9a6700,stroke-width:3px",
}


def mermaid(graph: FlowGraph) -> str:
    """The graph as a Mermaid flowchart, read from top to bottom."""
    ids = node_ids(graph)
    lines = ["flowchart TB", f'    {ids[START]}((("start")))']
    for number, (state, members) in enumerate(by_state(graph).items()):
        indent = "    " if state is None else "        "
        if state is not None:
            lines.append(f'    subgraph s{number}["{escape(state_title(state))}"]')
        for node in members:
            opening, closing = _BRACKETS.get(graph.nodes[node]["kind"], ("[", "]"))
            lines.append(f'{indent}{ids[node]}{opening}"{_joined(node_lines(graph, node))}"{closing}')
        if state is not None:
            lines.append("    end")
    lines.append(f'    {ids[END]}((("end")))')
    for source, target, edge in graph.edges(data=True):
        said = edge_lines(edge)
        label = f'|"{_joined(said)}"|' if said else ""
        lines.append(f"    {ids[source]} -->{label} {ids[target]}")
    if (failing := on_error(graph)) is not None:
        lines.append(f'    any(["{ANY}"]) -. {failing} .-> {ids[END]}')
    return "\n".join([*lines, *_styles(graph, ids)]) + "\n"


def node_ids(graph: FlowGraph) -> dict[str, str]:
    """An id for each node that no format can take for a word of its own."""
    return {node: f"n{number}" for number, node in enumerate(graph.nodes)}


def escape(text: str) -> str:
    """Text for a quoted label, with an entity code for all that is not plainly a letter, a digit or harmless."""
    escaped = "".join(
        character if character.isalnum() or character in " _-.,:;/()" else f"#{ord(character)};" for character in text
    )
    # Mermaid takes every line with these words for a command, quoted or not.
    return re.sub(r"\b([Dd])(?=irection\b)", lambda found: f"#{ord(found[1])};", escaped)


def _joined(lines: Sequence[str]) -> str:
    return "<br/>".join(map(escape, lines))


def _styles(graph: FlowGraph, ids: dict[str, str]) -> list[str]:
    lines: list[str] = []
    edges = [edge.get("tone") for _, _, edge in graph.edges(data=True)]
    for tone, css in _TONES.items():
        nodes = [ids[node] for node, data in graph.nodes(data=True) if data.get("tone") == tone]
        if nodes:
            lines += [f"    classDef {tone} {css}", f"    class {','.join(nodes)} {tone}"]
        if numbers := [str(number) for number, one in enumerate(edges) if one == tone]:
            lines.append(f"    linkStyle {','.join(numbers)} {css}")
    return lines
