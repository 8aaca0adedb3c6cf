"""The README is true: its commands run, its output is what they print, its drawing is what is run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from ..scripted.replies import Reply
from ..scripted.server import serving
from .conftest import Shell
from .fences import BLOCKS, README, Block

_SET_UP = re.compile(r"^python3 -m venv \.venv && \.venv/bin/pip install --quiet -e \S+ && ", re.MULTILINE)
_SERVER = re.compile(r"http://(?:127\.0\.0\.1|localhost):\d+/v1")
_TESTS = ".venv/bin/pytest -n auto"
_CHANGING = (
    (re.compile(r"\b[0-9a-f]{8,32}\b"), "ID"),
    (re.compile(r"\b\d+(?:\.\d+)? m?s\b"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?\S*"), "TIME"),
)


def _of(language: str) -> list[object]:
    return [pytest.param(block, id=f"line-{block.line}") for block in BLOCKS if block.language == language]


def _lines(text: str) -> list[str]:
    for changing, stand_in in _CHANGING:
        text = changing.sub(stand_in, text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_the_commands_do_what_the_readme_shows_from_top_to_bottom(shell: Shell) -> None:
    """The set-up is left to the machine that runs this, and so are the tests, which this is one of.

    The example server of a language model is played by a scripted one.
    """
    ran = 0
    with serving(Reply("It keeps a list of lent books.")) as server:
        for block in BLOCKS:
            command = _SET_UP.sub("", block.text).replace(".venv/bin/turngraph", "turngraph")
            if block.language != "sh" or command.strip() == _TESTS:
                continue
            assert ".venv" not in command
            done = shell.run("bash", "-euo", "pipefail", "-c", _SERVER.sub(server.base_url, command))
            assert done.returncode == 0, f"README.md:{block.line}: {done.stderr}"
            ran += 1
            if block.shown is not None:
                remarks = _lines(done.stderr)
                assert [line for line in _lines(block.shown) if line not in remarks] == _lines(done.stdout)
        assert server.violations == []
    assert ran > 0


def test_both_commands_set_everything_up_by_themselves() -> None:
    """`.ci/run` takes them from here by how they begin, so there is one of each."""
    lines = [line for block in BLOCKS if block.language == "sh" for line in block.text.splitlines()]
    commands = [_SET_UP.sub("", line) for line in lines if _SET_UP.match(line)]
    assert [command.split()[0] for command in commands] == [".venv/bin/turngraph", ".venv/bin/pytest"]
    assert commands[1] == _TESTS


def test_the_answer_about_the_small_workspace_is_true(shell: Shell) -> None:
    sample = README.parent / "tests" / "sample"
    done = shell.run("turngraph", "run", 'find "TODO"', "--cwd", "tests/sample", "--quiet")
    assert done.returncode == 0, done.stderr
    told = re.findall(r"^(\S+):(\d+): +(.*)$", done.stdout, re.MULTILINE)
    assert sorted((name, int(number), text) for name, number, text in told) == sorted(
        (path.relative_to(sample).as_posix(), number, line.strip())
        for path in sample.rglob("*.*")
        if path.is_file() and path.suffix != ".pyc"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "TODO" in line
    )


@pytest.mark.parametrize("block", _of("mermaid"))
def test_the_drawing_is_the_graph_that_runs(block: Block, shell: Shell) -> None:
    drawn = shell.run("turngraph", "graph", "export", "--format", "mermaid")
    assert (drawn.returncode, drawn.stdout) == (0, block.text)


def test_the_drawing_has_not_drifted(shell: Shell) -> None:
    done = shell.run("turngraph", "graph", "export", "--check", str(README))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_readme_shows_its_drawing() -> None:
    assert len(_of("mermaid")) == 1


@pytest.mark.parametrize("block", _of("python"))
def test_a_python_example_runs(block: Block, shell: Shell, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(block.text, encoding="utf-8")
    done = shell.run(sys.executable, str(script))
    assert done.returncode == 0, done.stderr
    if block.shown is not None:
        assert _lines(block.shown) == _lines(done.stdout)
