"""`turngraph graph` at a terminal and in a pipe."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ...scripted.harness import Workbench
from .screen import at_a_terminal

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(shutil.which("setsid") is None, reason="needs setsid to own a terminal"),
]


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


def environment(bench: Workbench) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {**kept, "HOME": str(bench.root), "TURNGRAPH_CONFIG": str(bench.settings)}


def at(bench: Workbench, *args: str, columns: int = 80) -> tuple[int, str]:
    with at_a_terminal("graph", *args, cwd=bench.root, env=environment(bench), columns=columns) as screen:
        code = screen.end()
        assert "\x1b" not in screen.text
        return code, screen.text


def test_boxes_fit_the_terminal_and_become_lines_where_they_do_not(bench: Workbench) -> None:
    code, wide = at(bench, "export", "--format", "text")
    assert code == 0
    assert "│ProcessNode" in wide.replace(" ", "")
    assert max(map(len, wide.splitlines())) <= 80
    code, narrow = at(bench, "export", "--format", "text", columns=50)
    assert code == 0
    assert "turngraph: lines instead of boxes: they need 61 columns, and there are 50" in narrow
    assert "  ProcessNode\n    -> Dispatch" in narrow


def test_a_png_is_nothing_for_a_terminal(bench: Workbench) -> None:
    code, shown = at(bench, "export", "--format", "png", columns=200)
    assert (code, shown) == (
        2,
        "turngraph: a PNG is nothing for a terminal; give --out FILE, or send it to a file or a pipe\n",
    )


@pytest.mark.parametrize("format", ["svg", "png", "json"])
def test_a_reader_that_goes_away_ends_nothing_loudly(bench: Workbench, format: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "turngraph", "graph", "export", "--format", format],
            stdout=writing,
            stderr=subprocess.PIPE,
            cwd=bench.root,
            env=environment(bench),
            timeout=60,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_narrow_encoding_gets_boxes_it_can_show(bench: Workbench) -> None:
    done = bench.run("graph", "export", "--format", "text", env={"PYTHONIOENCODING": "ascii"})
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert "\\u" not in done.stdout
    assert "+---" in done.stdout
