from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from turngraph.flows.flow import STANDARD
from turngraph.graphs.declared import END
from turngraph.graphs.export import FORMATS, render, render_bytes, render_text
from turngraph.graphs.export.lines import lines
from turngraph.graphs.extract import START, extract
from turngraph.graphs.overlay import overlay

from ..castings import Bare, a_turn, drawn
from .hostile import TEXTS

GOLDEN = Path(__file__).parents[1] / "golden"
TEXTUAL = [format for format in FORMATS if format != "png"]


@pytest.mark.parametrize(
    ("format", "file"),
    [
        ("mermaid", "standard.mmd"),
        ("mermaid-state", "standard.state.mmd"),
        ("dot", "standard.dot"),
        ("svg", "standard.svg"),
        ("text", "standard.txt"),
    ],
)
def test_the_standard_flow_looks_as_it_did(format: str, file: str) -> None:
    assert render(extract(STANDARD), format) == (GOLDEN / file).read_text(encoding="utf-8")


def test_a_turn_on_the_standard_flow_looks_as_the_readme_shows_it() -> None:
    drawing = render(overlay(extract(STANDARD), [a_turn()]), "svg")
    assert drawing == (GOLDEN / "overlay.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("format", TEXTUAL)
def test_a_variants_edges_are_drawn(format: str) -> None:
    swapped = render(extract(STANDARD.swap(Bare)), format)
    assert "Bare" in swapped
    assert "at once" in swapped
    assert "reply received" not in swapped


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_graph_gives_the_same_bytes_in_another_process_too(format: str) -> None:
    code = (
        "import sys; from turngraph.flows.flow import STANDARD; from turngraph.graphs.extract import extract; "
        "from turngraph.graphs.export import render_bytes; "
        "sys.stdout.buffer.write(render_bytes(extract(STANDARD), sys.argv[1]))"
    )
    again = subprocess.run([sys.executable, "-c", code, format], capture_output=True, check=True, timeout=60)
    assert render_bytes(extract(STANDARD), format) == again.stdout
    assert again.stdout.endswith(b"\n") or format == "png"


def test_an_unknown_format_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        render(extract(STANDARD), "gif")


def test_the_text_fits_a_narrow_terminal() -> None:
    graph = extract(STANDARD)
    assert max(map(len, render(graph, "text").splitlines())) <= 80
    assert max(map(len, lines(graph).splitlines())) <= 80


def test_boxes_that_do_not_fit_become_lines_and_say_so() -> None:
    graph = extract(STANDARD)
    drawing, reason = render_text(graph, 40)
    assert drawing == lines(graph)
    assert reason is not None
    assert reason.endswith("columns, and there are 40")
    assert "┌" in render_text(graph, 80)[0]
    plain, reason = render_text(graph, 80, ascii_only=True)
    assert reason is None
    assert plain.isascii()


@pytest.mark.parametrize("format", ["mermaid", "mermaid-state", "dot", "svg", "json", "html", "text"])
def test_a_state_has_one_group_wherever_its_nodes_are_listed(format: str) -> None:
    states = {"a": "assistant", "b": "response", "c": "assistant"}
    graph = drawn((START, "a"), ("a", "b"), ("b", "c"), ("c", END), states=states)
    drawing = render(graph, format)
    if format in ("mermaid", "mermaid-state", "dot", "svg"):
        assert drawing.count("ASSISTANT") == 1
    assert all(name in drawing for name in "ABC")


def test_json_tells_where_each_node_is_written() -> None:
    graph = json.loads(render(extract(STANDARD), "json"))
    assert (graph["schema"], graph["name"], graph["machine"]["initial"]) == (
        "turngraph.graph/1",
        "standard",
        "user_input",
    )
    dispatch = next(node for node in graph["nodes"] if node["id"] == "dispatch")
    assert (dispatch["name"], dispatch["kind"], dispatch["state"]) == ("Dispatch", "node", "tool_execution")
    file = Path(__file__).parents[3] / "nodes" / "dispatch.py"
    number: int = dispatch["source"]["line"]
    line = file.read_text(encoding="utf-8").splitlines()[number - 1]
    assert (dispatch["source"]["module"], line) == ("turngraph.nodes.dispatch", "@dataclass")
    assert {"from": "persist", "to": "end", "label": "done"} in graph["edges"]


@given(label=TEXTS, name=TEXTS)
def test_no_label_can_break_the_lines_of_the_text(label: str, name: str) -> None:
    graph = drawn((START, "call"), ("call", "persist"), ("persist", END))
    plain = lines(graph).splitlines()
    graph.graph["name"] = name
    graph.edges["call", "persist", 0]["label"] = label
    drawing = lines(graph)
    assert len(drawing.splitlines()) == len(plain)
    assert all(line.isprintable() for line in drawing.split("\n"))
