"""A graph of 200 nodes in every format, at a cost that does not blow up."""

from __future__ import annotations

import json
import os
import random
import re

from turngraph.graphs.declared import END
from turngraph.graphs.export import render, render_bytes, render_text
from turngraph.graphs.extract import START, FlowGraph, inner_nodes
from turngraph.graphs.rules import violations

from ..castings import drawn


def large(nodes: int = 200) -> FlowGraph:
    """A chain that ends, with branches back and forth, the same every time."""
    dice = random.Random(7)
    names = [f"node_{number}" for number in range(nodes)]
    edges = list(zip([START, *names], [*names, END], strict=True))
    edges += [(dice.choice(names), dice.choice(names)) for _ in range(nodes // 2)]
    return drawn(*dict.fromkeys(edges), machine=None)


def spent() -> float:
    """The seconds of CPU that this process and the programs that it waited for have used."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def draw(nodes: int) -> float:
    """Check a graph and draw it in every format; the CPU that takes."""
    graph, before = large(nodes), spent()
    assert violations(graph) == []
    for format in ("mermaid", "mermaid-state", "dot", "json", "svg", "html"):
        drawing = render(graph, format)
        assert all(f"Node_{number}" in drawing for number in range(nodes))
    assert render_bytes(graph, "png").startswith(b"\x89PNG")
    return spent() - before


def test_twice_as_many_nodes_are_checked_and_drawn_at_no_more_than_the_cube_of_that() -> None:
    half = draw(100)
    assert draw(200) < 12 * half


def test_a_large_graph_is_whole_in_every_format() -> None:
    graph = large()
    assert len(json.loads(render(graph, "json"))["nodes"]) == len(graph)
    assert len(set(re.findall(r'id="about-(n\d+)"', render(graph, "html")))) == len(inner_nodes(graph))


def test_boxes_of_200_nodes_become_lines() -> None:
    drawing, reason = render_text(large(), 200)
    assert reason == f"the graph has {large().number_of_edges()} edges, and more than 60 make no readable boxes"
    assert all(f"Node_{number}" in drawing for number in range(200))
