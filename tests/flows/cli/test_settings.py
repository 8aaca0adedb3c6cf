"""`turngraph settings show` says where each value comes from, and a turn says what a project holds back."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...scripted.harness import Workbench

pytestmark = pytest.mark.end_to_end


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


def rows(text: str) -> dict[str, tuple[str, str]]:
    table = text.split("\n\n")[0].splitlines()
    return {key: (value, origin) for key, value, origin in (line.split(maxsplit=2) for line in table)}


def test_each_value_is_shown_with_its_origin(bench: Workbench):
    bench.settings.write_text('model = "m"\nbase_url = "http://me:hunter2@h/v1"\npolicy = "auto"\n')
    bench.write("turngraph.toml", 'policy = "ask"\n')
    done = bench.run(
        *("settings", "show", "--cwd", str(bench.workspace), "--max-tokens", "5", "--max-cost", "0.5"),
        env={"TURNGRAPH_MAX_ITERATIONS": "4"},
    )
    assert (done.code, done.stderr) == (0, "")
    project = f"{bench.workspace}/turngraph.toml"
    assert rows(done.stdout) == {
        "model": ("m", f"{bench.settings}:1"),
        "base_url": ("http://h/v1", f"{bench.settings}:2"),
        "policy": ("ask", f"{project}:1, a project's file, holds back auto of {bench.settings}:3"),
        "max_iterations": ("4", "TURNGRAPH_MAX_ITERATIONS"),
        "max_tokens": ("5", "--max-tokens"),
        "max_total_tokens": ("none", "built in"),
        "max_cost": ("0.5", "--max-cost"),
        "timeout": ("none", "built in"),
        "context_window": ("none", "built in"),
        "flow": ("standard", "built in"),
        "flows": ("none", "built in"),
        "store": (str(bench.store_path), "TURNGRAPH_STORE"),
    }
    assert done.stdout.splitlines()[-2:] == [f"your file: {bench.settings}", f"a project's file: {project}"]


def test_as_json(bench: Workbench):
    bench.write("turngraph.toml", "max_iterations = 2\n")
    done = bench.run("settings", "show", "--output", "json", "--cwd", str(bench.workspace))
    document = done.document
    assert document["schema"] == "turngraph.settings/1"
    assert document["settings"]["max_iterations"] == {
        "value": 2,
        "kind": "project",
        "where": f"{bench.workspace}/turngraph.toml:1",
        "held_back": None,
    }
    assert document["settings"]["base_url"]["value"] is None
    assert [file["exists"] for file in document["files"]] == [True, True]


def test_a_mistake_is_one_sentence_with_its_place(bench: Workbench):
    bench.write("turngraph.toml", '\nmodel = "evil:model"\n')
    for command in (("settings", "show"), ("run", "tree")):
        done = bench.run(*command, "--cwd", str(bench.workspace))
        assert done.code == 2
        (line,) = done.stderr.splitlines()
        assert f"{bench.workspace}/turngraph.toml, line 2, column 1: model cannot be set by a project" in line


def test_a_turn_says_what_the_project_holds_back(bench: Workbench):
    bench.write("turngraph.toml", 'policy = "read-only"\n')
    run = ("run", "tree", "--cwd", str(bench.workspace))
    held = bench.run(*run, env={"TURNGRAPH_POLICY": "auto"})
    assert (held.code, "policy is read-only, not auto as TURNGRAPH_POLICY says" in held.stderr) == (0, True)
    assert "policy is" not in bench.run(*run, "--policy", "auto").stderr
