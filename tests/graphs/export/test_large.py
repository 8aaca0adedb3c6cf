"""A graph of 200 nodes in every format, within seconds."""

from __future__ import annotations

import json
import random
import re
import time

from turngraph.graphs.declared import END
from turngraph.graphs.export import render, render_bytes, render_text
from turngraph.graphs.extract import START, FlowGraph, inner_nodes
from turngraph.graphs.rules import violations

from ..castings import drawn

SECONDS = 20.0


def large(nodes: int = 200) -> FlowGraph:
    """A chain that ends, with branches back and forth, the same every time."""
    dice = random.Random(7)
    names = [f"node_{number}" for number in range(nodes)]
    edges = list(zip([START, *names], [*names, END], strict=True))
    edges += [(dice.choice(names), dice.choice(names)) for _ in range(nodes // 2)]
    return drawn(*dict.fromkeys(edges), machine=None)


def test_200_nodes_are_checked_and_drawn_in_seconds() -> None:
    graph = large()
    began = time.monotonic()
    assert violations(graph) == []
    for format in ("mermaid", "mermaid-state", "dot", "json", "svg", "html"):
        drawing = render(graph, format)
        assert all(f"Node_{number}" in drawing for number in range(200))
    assert render_bytes(graph, "png").startswith(b"\x89PNG")
    assert time.monotonic() - began < SECONDS
    assert len(json.loads(render(graph, "json"))["nodes"]) == len(graph)
    assert len(set(re.findall(r'id="about-(n\d+)"', render(graph, "html")))) == len(inner_nodes(graph))


def test_boxes_of_200_nodes_become_lines_at_once() -> None:
    began = time.monotonic()
    drawing, reason = render_text(large(), 200)
    assert time.monotonic() - began < 2
    assert reason == f"the graph has {large().number_of_edges()} edges, and more than 60 make no readable boxes"
    assert all(f"Node_{number}" in drawing for number in range(200))
