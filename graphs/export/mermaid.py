"""Mermaid: a flowchart whose subgraphs are the states.

Ids are generated, since names such as `end` or `call` break Mermaid as ids; labels are quoted, and what its quoted
strings do not take is written as an entity code (https://mermaid.js.org/syntax/flowchart.html).
"""

from __future__ import annotations

from itertools import groupby

from ..declared import END
from ..extract import START, FlowGraph


def mermaid(graph: FlowGraph) -> str:
    """The graph as a Mermaid flowchart, read from top to bottom."""
    ids = {node: f"n{number}" for number, node in enumerate(graph.nodes)}
    roles = [node for node in graph.nodes if node not in (START, END)]
    lines = ["flowchart TB", f'    {ids[START]}((("start")))']
    for number, (state, members) in enumerate(groupby(roles, key=lambda role: graph.nodes[role]["state"])):
        lines.append(f'    subgraph s{number}["{_escape(state.upper())}"]')
        lines += [f'        {ids[role]}["{_escape(graph.nodes[role]["cls"])}"]' for role in members]
        lines.append("    end")
    lines.append(f'    {ids[END]}((("end")))')
    for source, target, edge in graph.edges(data=True):
        said = f'|"{_escape(edge["label"])}"|' if edge["label"] else ""
        lines.append(f"    {ids[source]} -->{said} {ids[target]}")
    lines.append(f'    any(["any node"]) -. on error .-> {ids[END]}')
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return "".join(
        character if character.isalnum() or character in " _-.,:;/()" else f"#{ord(character)};" for character in text
    )
