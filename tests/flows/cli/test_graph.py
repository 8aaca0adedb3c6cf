"""`turngraph graph`: what it prints, writes and exits with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

from ...scripted.harness import Finished, Workbench
from ...scripted.replies import Reply
from ...scripted.server import ScriptedServer, serving

pytestmark = pytest.mark.end_to_end

VARIANTS = """
from __future__ import annotations
from dataclasses import dataclass
from typing import Annotated
from pydantic_graph import Edge, End
from turngraph import AgentState, Ctx, TurnNode, TurnResult, nodes

@dataclass
class Hasty(TurnNode):
    role = "process_node"
    state = AgentState.ASSISTANT
    async def run(self, ctx: Ctx) -> Annotated[End[TurnResult], Edge("done")] | Annotated[nodes.Dispatch, Edge("call")]:
        raise NotImplementedError

@dataclass
class Forever(TurnNode):
    role = "dispatch"
    state = AgentState.TOOL_EXECUTION
    async def run(self, ctx: Ctx) -> Annotated[nodes.Dispatch, Edge("again")] | Annotated[nodes.Execute, Edge("run")]:
        raise NotImplementedError
"""


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


@pytest.fixture
def server() -> Generator[ScriptedServer]:
    with serving(Reply("One."), Reply("Two.")) as server:
        yield server


def graph(bench: Workbench, *args: str) -> Finished:
    return bench.run("graph", *args)


def test_formats_go_to_stdout_and_to_files_named_after_them(bench: Workbench) -> None:
    printed = graph(bench, "export")
    assert (printed.code, printed.stderr) == (0, "")
    assert printed.stdout.startswith("flowchart TB\n")
    assert graph(bench, "export", "--format", "mermaid-state").stdout.startswith("stateDiagram-v2\n")
    for name, begins in (
        ("a.svg", b"<?xml"),
        ("a.png", b"\x89PNG"),
        ("a.html", b"<!DOCTYPE html>"),
        ("a.json", b"{"),
        ("a.mmd", b"flowchart"),
        ("a.dot", b"digraph"),
    ):
        done = graph(bench, "export", "--out", name)
        assert (done.code, done.stdout, done.stderr) == (0, "", "")
        assert (bench.root / name).read_bytes().startswith(begins)
    assert "seen to write" in (bench.root / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("export", "--out", "a.gif"), "the name of a.gif tells no format"),
        (("export", "--out", "no/a.svg"), "no/a.svg cannot be written: No such file"),
        (("export", "--check", "no.md"), "no.md cannot be read: No such file"),
        (("export", "--check", "x.md", "--out", "x.svg"), "give --check or --out"),
        (("export", "--overlay", "abcd", "--last", "2"), "give --overlay TURN, or --session and --last"),
        (("export", "--overlay", "abcd"), "no turn begins with abcd"),
        (("export", "--last", "2"), "there are no turns to draw yet"),
        (("export", "nope"), "there is no flow 'nope'"),
        (("export", "there_is_no_such_module:graph"), "there is no module there_is_no_such_module"),
        (("diff",), "there is nothing to compare"),
        (("diff", "--swap", "execute=serial", "--out", "no/a.txt"), "no/a.txt cannot be written: No such file"),
        (("check", "--swap", "nope=serial"), "has no role 'nope' to swap"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_exit_code_2(bench: Workbench, args: tuple[str, ...], words: str) -> None:
    done = graph(bench, *args)
    assert (done.code, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_module_is_not_imported_from_the_working_directory_unasked(bench: Workbench) -> None:
    (bench.root / "mine.py").write_text("from turngraph import STANDARD as flow\nprint('noise')\n")
    refused = graph(bench, "check", "mine:flow")
    assert (refused.code, refused.stdout) == (2, "")
    assert "the working directory is not searched" in refused.stderr
    named = graph(bench, "check", "./mine.py:flow")
    assert (named.code, named.stdout) == (0, "standard keeps all rules: 6 nodes, 10 edges\n")
    assert named.stderr == "noise\n"
    (bench.root / "broken.py").write_text("raise SystemExit('no')\n")
    raised = graph(bench, "check", "./broken.py:flow")
    assert (raised.code, raised.stdout) == (2, "")
    assert "raised when it was imported (SystemExit: no)" in raised.stderr


def test_a_swap_that_breaks_rules_is_told_with_all_of_them(bench: Workbench) -> None:
    (bench.root / "variants.py").write_text(VARIANTS)
    swaps = ("--swap", "process_node=variants.py:Hasty", "--swap", "dispatch=variants.py:Forever")
    done = graph(bench, "check", *swaps)
    assert (done.code, done.stderr) == (1, "")
    assert done.stdout == (
        "standard breaks 2 rules:\n"
        "  unbounded_cycle: dispatch can go round without passing persist\n"
        "    -> let the cycle pass persist, where the budgets are checked\n"
        "  unsealed_end: process_node can end the turn with work that is not sealed\n"
        "    -> go on to persist instead of End\n"
    )
    found = json.loads(graph(bench, "check", *swaps, "--output", "json").stdout)
    assert (found["schema"], found["graph"], found["ok"]) == ("turngraph.graph-check/1", "standard", False)
    assert [(one["rule"], one["nodes"]) for one in found["violations"]] == [
        ("unbounded_cycle", ["dispatch"]),
        ("unsealed_end", ["process_node"]),
    ]
    drawn = graph(bench, "export", *swaps)
    assert drawn.code == 0
    assert "Hasty" in drawn.stdout
    assert "breaks 2 rules, unbounded_cycle, unsealed_end: turngraph graph check says" in drawn.stderr


def test_a_flow_of_the_settings_is_found_and_broken_settings_hinder_no_other(bench: Workbench) -> None:
    bench.settings.write_text('[flows.mine]\nswap = ["execute=serial"]\n')
    assert graph(bench, "check", "mine").stdout == "mine keeps all rules: 6 nodes, 10 edges\n"
    assert "SerialExecute" in graph(bench, "export", "mine").stdout
    bench.settings.write_text("no toml")
    assert graph(bench, "check").code == graph(bench, "check", "standard").code == 0
    assert graph(bench, "check", "mine").code == 2


def test_the_rules_are_listed_with_their_hints(bench: Workbench) -> None:
    listed = json.loads(graph(bench, "rules", "--output", "json").stdout)["rules"]
    names = [one["name"] for one in listed]
    assert len(names) == len(set(names)) >= 13
    assert {"duplicate_role", "unreachable", "dead_end", "livelock", "no_way_out", "unbounded_cycle"} <= set(names)
    text = graph(bench, "rules").stdout
    assert all(one["name"] in text and one["hint"] in text for one in listed)
    assert "unreachable  (any graph)" in text


def test_a_drawing_that_has_drifted_is_told_with_a_diff(bench: Workbench) -> None:
    drawing = graph(bench, "export").stdout
    readme = bench.root / "README.md"
    readme.write_text(f"# x\n\n```mermaid\nflowchart LR\n```\n\n````mermaid\n{drawing}````\n\ntext\n")
    same = graph(bench, "export", "--check", "README.md")
    assert (same.code, same.stdout, same.stderr) == (0, "", "")
    readme.write_text(readme.read_text().replace("nothing to run", "nothing"))
    drifted = graph(bench, "export", "--check", "README.md")
    assert drifted.code == 1
    changed = [line for line in drifted.stdout.splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ['-    n4 -->|"nothing"| n6', '+    n4 -->|"nothing to run"| n6']
    assert "README.md is not what the graph is now" in drifted.stderr
    readme.write_text("# no drawing\n")
    assert graph(bench, "export", "--check", "README.md").code == 2
    graph(bench, "export", "--out", "a.png")
    assert graph(bench, "export", "--check", "a.png").code == 0
    shutil.copy(bench.root / "a.png", bench.root / "b.png")
    (bench.root / "b.png").write_bytes(b"other")
    assert graph(bench, "export", "--check", "b.png").code == 1


def test_a_diff_of_a_swap_as_text_json_and_picture(bench: Workbench) -> None:
    (bench.root / "variants.py").write_text(VARIANTS)
    swap = ("--swap", "dispatch=variants.py:Forever")
    done = graph(bench, "diff", *swap)
    assert (done.code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "standard"
    assert lines[1].startswith("  changed  dispatch: Dispatch (turngraph.nodes.dispatch) -> Forever (")
    assert lines[2:] == [
        "  added    dispatch -> dispatch  (again)",
        "  changed  dispatch -> execute  (calls to run -> run)",
        "  removed  dispatch -> persist  (nothing to run)",
    ]
    found = json.loads(graph(bench, "diff", *swap, "--format", "json").stdout)
    assert found["schema"] == "turngraph.graph-diff/1"
    assert {"from": "dispatch", "to": "dispatch", "change": "added", "before": None, "after": "again"} in found["edges"]
    assert graph(bench, "diff", *swap, "--out", "diff.svg").code == 0
    assert "was Dispatch" in (bench.root / "diff.svg").read_text(encoding="utf-8")
    assert "the same nodes and edges" in graph(bench, "diff", "standard", "standard").stdout


def test_what_happened_is_drawn_from_the_store(bench: Workbench, server: ScriptedServer) -> None:
    first, second = (bench.turn("go", server).document for _ in range(2))
    done = graph(bench, "export", "--overlay", first["turn_id"], "--format", "json")
    assert (done.code, done.stderr) == (0, "")
    drawn = json.loads(done.stdout)
    stream = next(node for node in drawn["nodes"] if node["id"] == "stream")
    usage = first["usage"]
    assert stream["figures"]["visits"] == first["iterations"] == 1
    assert stream["figures"]["input_tokens"] == usage["input_tokens"]
    assert stream["figures"]["output_tokens"] == usage["output_tokens"]
    assert json.loads(graph(bench, "export", "--last", "5", "--format", "json").stdout)["totals"]["turns"] == 2
    session = graph(bench, "export", "--session", second["session_id"], "--format", "text")
    assert "standard: 1 turn, 4 visits" in session.stdout
    compared = graph(
        *(bench, "diff", "standard", "standard"),
        *("--before-turn", first["turn_id"], "--after-turn", second["turn_id"]),
    )
    assert "stream: visits 1 -> 1, p50 " in compared.stdout
