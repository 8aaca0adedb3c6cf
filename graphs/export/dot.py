"""Graphviz: the states are clusters, the loop reads from top to bottom.

Ids are generated; the background is painted, so that the drawing can be read on a light and on a dark page.
"""

from __future__ import annotations

from ..declared import END, START
from ..extract import FlowGraph, by_state
from .mermaid import node_ids
from .wording import ANY, caption, edge_lines, node_lines, on_error, state_title

_INK, _QUIET, _PAPER = "#1f2328", "#59636e", "#ffffff"
_MANY_EDGES = 100
_STATES = (("#eaf2ff", "#b3cdf7"), ("#f4edff", "#d3bdf5"), ("#fff3e0", "#f3cf99"), ("#e8f7ec", "#a9dbb7"))
"""Fill and border of the clusters, in turn."""
_TONES = {
    "never": 'style="rounded,filled,dashed" color="#8c959f" fontcolor="#59636e"',
    "added": 'color="#1a7f37" penwidth=2.5',
    "removed": 'style="rounded,filled,dashed" color="#cf222e" fontcolor="#cf222e" penwidth=1.5',
    "changed": 'color="#9a6700" penwidth=2.5',
}
_EDGE_TONES = {
    "never": 'style=dashed color="#8c959f"',
    "added": 'color="#1a7f37" fontcolor="#1a7f37" penwidth=2',
    "removed": 'style=dashed color="#cf222e" fontcolor="#cf222e"',
    "changed": 'color="#9a6700" fontcolor="#9a6700" penwidth=2',
}
_SHAPES = {
    "decision": "shape=diamond style=filled height=0.5",
    "fork": "shape=hexagon style=filled",
    "map": "shape=hexagon style=filled",
    "join": "shape=hexagon style=filled",
}


def dot(graph: FlowGraph) -> str:
    """The graph in Graphviz's language."""
    ids = node_ids(graph)
    font = 'fontname="Arial"'
    lines = [
        "digraph {",
        f'    graph [bgcolor="{_PAPER}" {font} fontsize=11 fontcolor="{_QUIET}" labeljust=l pad=0.3 ranksep=0.35 '
        f"nodesep=0.4 newrank=true {_effort(graph)}label={_quoted(caption(graph))} labelloc=b]",
        f'    node [shape=box style="rounded,filled" fillcolor="{_PAPER}" color="#8c959f" {font} fontsize=13 '
        f'fontcolor="{_INK}" margin="0.18,0.09" height=0.4 width=2.3]',
        f'    edge [color="{_QUIET}" {font} fontsize=10.5 fontcolor="{_INK}" arrowsize=0.7]',
        _terminal(ids[START], "start"),
    ]
    for number, (state, members) in enumerate(by_state(graph).items()):
        if state is None:
            lines += [f"    {_node(graph, node, ids[node])}" for node in members]
            continue
        fill, border = _STATES[number % len(_STATES)]
        lines.append(f"    subgraph cluster_{number} {{")
        lines.append(
            f'        graph [style="rounded,filled" fillcolor="{fill}" color="{border}" margin=16 labelloc=b '
            f"fontsize=9 label={_quoted(state_title(state))}]"
        )
        lines += [f"        {_node(graph, node, ids[node])}" for node in members]
        lines.append("    }")
    lines.append(_terminal(ids[END], "end"))
    for number, (source, target, edge) in enumerate(graph.edges(data=True)):
        said = edge_lines(edge)
        attributes = [f'id="e{number}"', *([f"label={_quoted(*map(_set_off, said))}"] if said else [])]
        if edge.get("tone") is not None:
            attributes.append(_EDGE_TONES[edge["tone"]])
        elif edge.get("weight"):
            attributes.append(f"penwidth={1 + 2 * edge['weight']:.2f}")
        lines.append(f"    {ids[source]} -> {ids[target]} [{' '.join(attributes)}]")
    if (failing := on_error(graph)) is not None:
        lines.append(f'    any [label="{ANY}" style="rounded,dashed" fontsize=11 fontcolor="{_QUIET}" width=0]')
        lines.append(f"    any -> {ids[END]} [style=dashed label={_quoted(_set_off(failing))}]")
    return "\n".join([*lines, "}"]) + "\n"


def _effort(graph: FlowGraph) -> str:
    """Bounds for what Graphviz does not finish on large graphs: straight edges, and fewer rounds of improvement."""
    return "splines=line nslimit=2 nslimit1=2 mclimit=0.5 " if graph.number_of_edges() > _MANY_EDGES else ""


def _terminal(node: str, name: str) -> str:
    size = "width=0.7 height=0.3"
    return (
        f'    {node} [shape=box style="rounded,filled" fillcolor="{_INK}" fontcolor="{_PAPER}" label="{name}" {size}]'
    )


def _node(graph: FlowGraph, node: str, name: str) -> str:
    data = graph.nodes[node]
    attributes = [f'id="{name}"', f"label={_quoted(*node_lines(graph, node))}"]
    if data["kind"] in _SHAPES:
        attributes.append(_SHAPES[data["kind"]])
    if data.get("weight"):
        attributes.append(f'fillcolor="{_heat(data["weight"])}"')
    if data.get("tone") is not None:
        attributes.append(_TONES[data["tone"]])
    return f"{name} [{' '.join(attributes)}]"


def _heat(weight: float) -> str:
    """White at 0, warm at 1."""
    cold, warm = (255, 255, 255), (255, 196, 120)
    return "#" + "".join(f"{round(a + (b - a) * weight):02x}" for a, b in zip(cold, warm, strict=True))


def _set_off(line: str) -> str:
    """The label of an edge begins and ends with blanks, or it would touch the edge."""
    return f"    {line}    "


def _quoted(*lines: str) -> str:
    r"""A label: quotes and backslashes escaped, `&` too, since Graphviz reads entities, and lines joined by `\n`."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines)
    return '"' + "\\n".join(escaped) + '"'
