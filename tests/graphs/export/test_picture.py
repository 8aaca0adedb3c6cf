"""Pictures, held to what Graphviz reads and what a viewer of SVG and PNG sees."""

from __future__ import annotations

import json
import struct
import subprocess
import sysconfig
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turngraph.flows.flow import STANDARD
from turngraph.graphs.export import picture, render, render_bytes
from turngraph.graphs.export.wording import visible
from turngraph.graphs.extract import extract
from turngraph.nodes.errors import UsageError

from .hostile import NAMES, TEXTS, hostile

PROGRAM = Path(sysconfig.get_path("scripts")) / "graphviz-pure"
pytestmark = pytest.mark.skipif(not PROGRAM.is_file(), reason="graphviz-pure has no build for this machine")


def read_by_graphviz(source: str) -> dict[str, Any]:
    done = subprocess.run([PROGRAM, "-Tjson"], input=source.encode(), capture_output=True, check=True, timeout=60)
    assert all(b"metrics" in line or b"character" in line for line in done.stderr.splitlines()), done.stderr
    return json.loads(done.stdout)


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]


@settings(max_examples=25, deadline=None)
@given(names=st.lists(TEXTS, min_size=1, max_size=5))
def test_no_name_can_break_a_picture(names: list[str]) -> None:
    graph = hostile(names)
    read = read_by_graphviz(render(graph, "dot"))
    assert len(read["edges"]) == graph.number_of_edges() + 1
    shown = texts(render(graph, "svg"))
    wanted = [visible(name).strip() or "(no name)" for name in names]
    assert [text for text in wanted if text not in shown] == []


def test_every_hostile_name_is_in_the_picture_as_it_is() -> None:
    shown = [text.strip() for text in texts(render(hostile(), "svg"))]
    assert [name for name in NAMES if name.strip() and visible(name).strip() not in shown] == []


def test_states_are_clusters_and_the_loop_reads_from_top_to_bottom() -> None:
    read = read_by_graphviz(render(extract(STANDARD), "dot"))
    clusters = {one["label"]: one["nodes"] for one in read["objects"] if one["name"].startswith("cluster")}
    assert [len(nodes) for nodes in clusters.values()] == [1, 2, 2, 1]
    assert list(clusters) == ["USER_INPUT", "ASSISTANT", "TOOL_EXECUTION", "RESPONSE"]
    height = {one["label"]: float(one["pos"].split(",")[1]) for one in read["objects"] if "pos" in one}
    down = ["start", "PrepareHistory", "Stream", "ProcessNode", "Dispatch", "Execute", "Persist", "end"]
    assert sorted(down, key=lambda name: -height[name]) == down


def test_no_labels_overlap() -> None:
    read = read_by_graphviz(render(extract(STANDARD), "dot"))
    boxes: list[tuple[float, float, float, float]] = []
    for one in read["objects"]:
        if "pos" in one:
            x, y = map(float, one["pos"].split(","))
            boxes.append((x, y, float(one["width"]) * 72, float(one["height"]) * 72))
        elif "lp" in one:
            x, y = map(float, one["lp"].split(","))
            boxes.append((x, y, float(one["lwidth"]) * 72, float(one["lheight"]) * 72))
    for edge in read["edges"]:
        if "lp" in edge:
            x, y = map(float, edge["lp"].split(","))
            boxes.append((x, y, 5.5 * len(edge["label"].strip()), 12))
    assert len(boxes) > 20
    overlapping = [
        (one, two)
        for number, one in enumerate(boxes)
        for two in boxes[:number]
        if abs(one[0] - two[0]) < (one[2] + two[2]) / 2 and abs(one[1] - two[1]) < (one[3] + two[3]) / 2
    ]
    assert overlapping == []


def test_a_picture_brings_its_own_ground_and_says_what_each_node_is_for() -> None:
    svg = render(extract(STANDARD), "svg")
    assert '<polygon fill="#ffffff" stroke="none"' in svg
    assert "<title>Persist: Seal the iteration, then go on or end the turn.</title>" in svg
    assert svg.count("<title>") == len(STANDARD.lineup) + 2


def test_a_png_is_one_and_twice_the_size_of_the_svg() -> None:
    graph = extract(STANDARD)
    png = render_bytes(graph, "png")
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, _ = struct.unpack(">II", png[16:24])
    points = float(ElementTree.fromstring(render(graph, "svg")).attrib["width"].removesuffix("pt"))
    assert width == pytest.approx(points * 2, abs=2)  # pyright: ignore[reportUnknownMemberType]


def test_a_machine_that_cannot_draw_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(picture.sysconfig, "get_path", {"scripts": str(tmp_path)}.__getitem__)
    with pytest.raises(UsageError, match="not published for this machine; install Graphviz"):
        render(extract(STANDARD), "svg")


def test_a_drawing_that_fails_says_what_was_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "graphviz-pure"
    program.write_text("#!/bin/sh\necho no such font >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(picture.sysconfig, "get_path", {"scripts": str(tmp_path)}.__getitem__)
    with pytest.raises(UsageError, match="could not be drawn: no such font; --format dot"):
        render(extract(STANDARD), "svg")
