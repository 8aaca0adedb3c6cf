"""Boxes and arrows of characters, for a terminal; drawn by termaid, for graphs that it can draw."""

from __future__ import annotations

import subprocess
import sys

from ..declared import END, START
from ..extract import FlowGraph, inner_nodes
from .mermaid import escape, node_ids
from .wording import caption, edge_lines, node_lines, on_error_lines, state_title, visible

TIMEOUT = 10.0
"""Seconds that boxes may take; termaid does not end on some graphs, so it runs in a process of its own."""

_MOST_EDGES = 60
_LABEL_WIDTH = 24
_NEWLINE = r"\n"
_DRAW = """
import sys, termaid
text = sys.stdin.buffer.read().decode()
drawn = termaid.render(text, padding_x=1, padding_y=0, gap=2, max_label_width={width}, use_ascii={ascii})
sys.stdout.buffer.write(drawn.encode())
"""


class NoBoxes(Exception):
    """The graph cannot be drawn as boxes; the text says why, to follow 'lines instead of boxes: '."""


def boxes(graph: FlowGraph, width: int, *, ascii_only: bool = False) -> str:
    """The graph as boxes within `width` columns; the state of each node stands in its box.

    Raises:
        NoBoxes: it is too large or too wide, or took too long.
    """
    edges = graph.number_of_edges()
    if edges > _MOST_EDGES:
        raise NoBoxes(f"the graph has {edges} edges, and more than {_MOST_EDGES} make no readable boxes")
    program = _DRAW.format(width=_LABEL_WIDTH, ascii=ascii_only)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", program],
            input=_source(graph).encode(),
            capture_output=True,
            check=False,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        raise NoBoxes(f"they were not drawn within {TIMEOUT:.0f} seconds") from None
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["nothing was drawn"]
        raise NoBoxes(visible(last[0]))
    drawn = [line.rstrip() for line in done.stdout.decode().splitlines()]
    needed = max(map(len, drawn), default=0)
    if needed > width:
        raise NoBoxes(f"they need {needed} columns, and there are {width}")
    return "\n".join([*drawn, "", caption(graph), *on_error_lines(graph)]) + "\n"


def _source(graph: FlowGraph) -> str:
    """The graph in Mermaid as termaid reads it best: without subgraphs, which it spreads over the page."""
    ids = node_ids(graph)
    lines = ["flowchart TB", f'    {ids[START]}(["start"])']
    for node in inner_nodes(graph):
        state = graph.nodes[node]["state"]
        said = [*node_lines(graph, node)[:1], *([state_title(state)] if state else []), *node_lines(graph, node)[1:]]
        lines.append(f'    {ids[node]}["{_NEWLINE.join(map(escape, said))}"]')
    lines.append(f'    {ids[END]}(["end"])')
    for source, target, edge in graph.edges(data=True):
        said = edge_lines(edge)
        label = f'|"{escape(", ".join(said))}"|' if said else ""
        arrow = "-.->" if edge.get("tone") in ("never", "removed") else "-->"
        lines.append(f"    {ids[source]} {arrow}{label} {ids[target]}")
    return "\n".join(lines) + "\n"
