"""Mermaid's output, held to what Mermaid itself reads."""

from __future__ import annotations

import html
import re
import subprocess
import sys

import pytest
from hypothesis import given
from turngraph.flows.flow import STANDARD
from turngraph.graphs.declared import END
from turngraph.graphs.export import render
from turngraph.graphs.export.wording import visible
from turngraph.graphs.extract import START, FlowGraph, extract

from ..castings import drawn
from .hostile import NAMES, TEXTS, hostile

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


DRAW = "import sys, mermaidx; sys.stdout.buffer.write(str(mermaidx.render(sys.stdin.read()).svg()).encode())"


def read_by_mermaid(source: str) -> str:
    """The text in the picture that the real Mermaid draws, in a process of its own, which its engine needs."""
    done = subprocess.run([sys.executable, "-c", DRAW], input=source.encode(), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    picture = re.sub(r"<style>.*?</style>", "", done.stdout.decode(), flags=re.DOTALL)
    return html.unescape("".join(re.findall(r">([^<>]+)<", picture)))


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("format", ["mermaid", "mermaid-state"])
@pytest.mark.parametrize("graph", [extract(STANDARD), hostile()], ids=["standard", "hostile"])
def test_the_real_mermaid_draws_every_name(format: str, graph: FlowGraph) -> None:
    """T8-05, T8-06."""
    shown = squeezed(read_by_mermaid(render(graph, format)))
    names = [data["cls"] for _, data in graph.nodes(data=True) if (data["cls"] or "").strip()]
    missing = [name for name in names if squeezed(visible(name)) not in shown]
    assert missing == []
    assert len(names) >= 6


def unescaped(label: str) -> str:
    return re.sub(r"#(\d+);", lambda code: chr(int(code[1])), label)


@given(label=TEXTS, name=TEXTS)
def test_no_label_can_break_a_line(label: str, name: str) -> None:
    graph = drawn((START, "call"), ("call", "persist"), ("persist", END), states={"call": name or "end"})
    graph.nodes["call"]["cls"] = name
    graph.edges["call", "persist", 0]["label"] = label
    drawing = render(graph, "mermaid")
    assert all(LINE.fullmatch(line) for line in drawing.split("\n")[:-1]), drawing
    labels = re.findall(r'"([^"]*)"', drawing)
    assert all(re.fullmatch(r"(?:[\w \-.,:;/()]|#\d+;)*", one) for one in labels)
    said = [unescaped(one) for one in labels]
    assert (visible(name).strip() or "(no name)") in said
    assert visible(label).strip() in ["", *said]


def test_two_names_that_look_alike_stay_two_nodes() -> None:
    """T8-07."""
    graph = drawn((START, "wait input"), ("wait input", "wait-input"), ("wait-input", END))
    drawing = render(graph, "mermaid")
    assert re.findall(r"^ {8}(n\d+)\[", drawing, re.MULTILINE) == ["n1", "n2"]
    assert len(NAMES) == len(set(NAMES))
