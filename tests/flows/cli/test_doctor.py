"""`turngraph doctor` tells by its exit code whether a turn could run, and reports also when everything is broken."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ...scripted.harness import Workbench

pytestmark = pytest.mark.end_to_end


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


def test_a_turn_can_run_with_nothing_configured(bench: Workbench):
    done = bench.run("doctor", "--cwd", str(bench.workspace))
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.endswith("\n\nA turn can run.\n")
    for words in ("\nModel\n  ok       offline would answer", "\n           -> turngraph run --model", "ripgrep"):
        assert words in done.stdout


def test_what_keeps_a_turn_from_running_is_exit_code_2(bench: Workbench):
    bench.settings.write_text('policy = "never"\n')
    done = bench.run("doctor", "--output", "json", "--cwd", str(bench.workspace / "nowhere"))
    document = done.document
    assert (done.code, document["schema"], document["can_run"]) == (2, "turngraph.doctor/1", False)
    blocking = [line["text"] for section in document["sections"] for line in section["lines"] if line["blocks"]]
    assert [word in text for word, text in zip(("nowhere", "policy"), blocking, strict=True)] == [True, True]


@pytest.mark.parametrize("package", ["pydantic_ai", "pydantic_graph", "platformdirs"])
def test_a_broken_installation_is_reported_and_not_a_crash(package: str, bench: Workbench):
    broken = bench.root / "broken"
    broken.mkdir()
    (broken / f"{package}.py").write_text("raise RuntimeError('this package is broken')\n")
    path = os.pathsep.join([str(broken), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = bench.run("doctor", "--output", "json", env={"PYTHONPATH": path})
    document = json.loads(done.stdout)
    assert (done.code, document["can_run"]) == (2, False)
    said = [line["text"] for section in document["sections"] for line in section["lines"] if line["blocks"]]
    assert any("this package is broken" in text for text in said)
    assert {"Versions", "Providers", "Terminal"} <= {section["title"] for section in document["sections"]}


def test_local_servers_are_looked_for_only_when_asked(bench: Workbench):
    assert "Local servers" not in bench.run("doctor").stdout
    assert "port 11434" in bench.run("doctor", "--local").stdout


def test_control_characters_of_a_path_are_not_written_to_the_terminal(bench: Workbench):
    done = bench.run("doctor", env={"TURNGRAPH_STORE": str(bench.root / "a\x1b[31mb.db")})
    assert "\x1b" not in done.stdout
    assert "a\\x1b[31mb.db" in done.stdout


def test_repair_is_done_only_when_asked_for(bench: Workbench):
    bench.run("run", "--cwd", str(bench.workspace), "hello")
    whole = bench.store_path.read_bytes()
    bench.store_path.write_bytes(whole[: len(whole) - 1024])
    looked = bench.run("doctor", "--output", "json")
    assert (looked.code, bench.store_path.read_bytes()) == (2, whole[:-1024])
    mended = bench.run("doctor", "--repair")
    assert mended.stdout.startswith("Repair\n")
    assert mended.code == 0
    assert bench.run("doctor").code == 0
