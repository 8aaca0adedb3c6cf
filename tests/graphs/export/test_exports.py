from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turngraph.flows.flow import STANDARD
from turngraph.graphs.declared import END
from turngraph.graphs.export import FORMATS, render
from turngraph.graphs.extract import START, extract

from ..castings import Bare, drawn

GOLDEN = Path(__file__).parents[1] / "golden"
HOSTILE = st.text(max_size=20) | st.sampled_from(
    ['a"]b', "x|y", "%% c", "end", "a\nb", "#35;", "<b>&amp;", "`*_`", "\x1b[31m"]
)


@pytest.mark.parametrize(("format", "file"), [("mermaid", "standard.mmd"), ("text", "standard.txt")])
def test_the_standard_flow_looks_as_it_did(format: str, file: str) -> None:
    assert render(extract(STANDARD), format) == (GOLDEN / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("format", FORMATS)
def test_a_variants_edges_are_drawn(format: str) -> None:
    swapped = render(extract(STANDARD.swap(Bare)), format)
    assert "Bare" in swapped
    assert "at once" in swapped
    assert "reply received" not in swapped


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_graph_gives_the_same_text(format: str) -> None:
    assert render(extract(STANDARD), format) == render(extract(STANDARD), format)
    assert render(extract(STANDARD), format).endswith("\n")


def test_an_unknown_format_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        render(extract(STANDARD), "gif")


def test_the_text_fits_a_narrow_terminal() -> None:
    assert max(map(len, render(extract(STANDARD), "text").splitlines())) <= 80


LINE = re.compile(
    r"""flowchart\ TB
    |\ {4}n\d+\(\(\("(start|end)"\)\)\)
    |\ {4}subgraph\ s\d+\["[^"]*"\]
    |\ {8}n\d+\["[^"]*"\]
    |\ {4}end
    |\ {4}n\d+\ -->(\|"[^"]*"\|)?\ n\d+
    |\ {4}any\(\["any\ node"\]\)\ -\.\ on\ error\ \.->\ n\d+""",
    re.VERBOSE,
)
LABEL = re.compile(r'"([^"]*)"')


def unescaped(label: str) -> str:
    return re.sub(r"#(\d+);", lambda code: chr(int(code[1])), label)


@given(label=HOSTILE, name=HOSTILE, state=st.sampled_from(["end", "graph", 'a"b', "assistant"]))
def test_no_label_can_break_mermaid(label: str, name: str, state: str) -> None:
    graph = drawn((START, "call"), ("call", "persist"), ("persist", END), states={"call": state})
    graph.nodes["call"]["cls"] = name
    graph.edges["call", "persist", 0]["label"] = label
    drawing = render(graph, "mermaid")
    lines = drawing.split("\n")[:-1]
    assert all(LINE.fullmatch(line) for line in lines), drawing
    labels = LABEL.findall(drawing)
    assert all(re.fullmatch(r"(?:[\w \-.,:;/()]|#\d+;)*", one) for one in labels)
    said = [unescaped(one) for one in labels]
    assert name in said
    assert not label or label in said


@given(label=HOSTILE, name=st.sampled_from(["flow", "a\nb", "\x1b[31m"]))
def test_no_label_can_break_the_lines_of_the_text(label: str, name: str) -> None:
    graph = drawn((START, "call"), ("call", "persist"), ("persist", END))
    plain = render(graph, "text").splitlines()
    graph.graph["name"] = name
    graph.edges["call", "persist", 0]["label"] = label
    drawing = render(graph, "text")
    assert len(drawing.splitlines()) == len(plain)
    assert all(line.isprintable() for line in drawing.split("\n"))
