"""Bounds that hold whatever the size: of a command's output, of a file, of a line, of a search."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from pydantic_ai.exceptions import ToolFailed
from turngraph.tools import grep, read_file, ripgrep, update_file
from turngraph.tools.workspace import Workspace

GROWN_KIB = 24 * 1024
GIB = 1024**3

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")


def measured(root: Path, code: str) -> dict[str, Any]:
    """Run code in a process of its own, that knows `workspace`; what it says and by how many KiB its peak grew."""
    program = f"""
import json, anyio
from pathlib import Path
from pydantic_ai.exceptions import ToolFailed
from turngraph.tools import bash, grep, read_file, update_file, write_file
from turngraph.tools.workspace import Workspace

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

async def main():
    workspace = Workspace(Path({str(root)!r}))
    await bash.tool(workspace)("true")
    before = peak()
{code}
    print(json.dumps({{"said": said[:300] + said[-300:], "grown": peak() - before}}))

anyio.run(main)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.fixture
def huge(root: Path) -> Path:
    """Two GiB: a thousand short lines, then one that never ends; sparse, so that it takes no room."""
    with (root / "huge").open("wb") as file:
        file.write(b"short line\n" * 1_000)
        file.truncate(2 * GIB)
    return root / "huge"


@on_linux
def test_a_gigabyte_of_output_takes_no_memory(root: Path) -> None:
    """T4-13: head and tail of it are kept, and what is left out is counted."""
    run = 'echo first; head -c 1073741824 /dev/zero; echo; echo "error: last"; exit 3'
    result = measured(root, f"    said = await bash.tool(workspace)({run!r}, 120)")
    assert result["said"].startswith("[exit code 3; ")
    assert "\nfirst\n" in result["said"]
    assert result["said"].endswith("error: last")
    assert result["grown"] < GROWN_KIB


@on_linux
def test_a_file_of_two_gigabytes_takes_no_memory(root: Path, huge: Path) -> None:
    result = measured(
        root,
        """
    said = ""
    for call in (
        lambda: read_file.tool(workspace)("huge"),
        lambda: read_file.tool(workspace)("huge", 900, 5),
        lambda: update_file.tool(workspace)("huge", "short", "long"),
    ):
        try:
            said += call()[:100]
        except ToolFailed as error:
            said += str(error)
    said += await grep.tool(workspace)("short")
""",
    )
    assert "[huge: lines 1-1,001 of at least 1,001" in result["said"]
    assert result["grown"] < GROWN_KIB


def test_a_huge_file_reads_by_pages_and_is_not_edited(workspace: Workspace, huge: Path) -> None:
    page = read_file.tool(workspace)("huge", 999, 2)
    assert page.startswith("[huge: lines 999-1,000 of at least 1,001")
    assert "   999→short line\n" in page
    with pytest.raises(ToolFailed, match="more than 256 MiB in"):
        read_file.tool(workspace)("huge", 1_003)
    with pytest.raises(ToolFailed, match="2,147,483,648 bytes, too many to edit"):
        update_file.tool(workspace)("huge", "short", "long")


@pytest.mark.anyio
async def test_matches_in_lines_too_long_to_keep_are_counted(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grep, "JSON_BYTES", 100_000)
    (root / "f").write_text("needle\n" + ("x" * 80_000 + "needle\n") * 5)
    text = await grep.tool(workspace)("needle")
    assert text.startswith("[6 matching lines in 1 of 1 file]\nf:1: needle\n")
    assert "more matching lines; narrow" in text
    assert len(text) < 3_000


@pytest.mark.anyio
@pytest.mark.parametrize(("options", "processes"), [({}, 3), ({"include_ignored": True}, 2), ({"glob": "*.py"}, 4)])
async def test_grep_searches_once(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], processes: int
) -> None:
    """One search of every file; beside it only listings, at the same time, and the lines to show."""
    calls: list[list[str]] = []
    run, head = ripgrep.run, ripgrep.run_for_head

    async def counted(arguments: list[str], directory: Path) -> CompletedProcess[bytes]:
        calls.append(list(arguments))
        return await run(arguments, directory)

    async def counted_head(arguments: list[str], directory: Path, limit: int) -> bytes:
        calls.append(list(arguments))
        return await head(arguments, directory, limit)

    monkeypatch.setattr(ripgrep, "run", counted)
    monkeypatch.setattr(ripgrep, "run_for_head", counted_head)
    for number in range(200):
        (root / f"f{number}.py").write_text("needle\n")
    await grep.tool(workspace)("needle", **options)
    assert len(calls) == processes
    assert sum("--files" not in call and call[-1] == "." for call in calls) == 1
    assert sum(arguments.count("--json") for arguments in calls) == 1
    assert all(len([a for a in call if a.startswith("./")]) <= grep.LIMIT for call in calls)


def test_an_edit_of_very_many_places_is_refused_in_bounded_time(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("a" * 4_000_000)
    for everywhere in (True, False):
        with pytest.raises(ToolFailed, match="stands more than 100,000 times"):
            update_file.tool(workspace)("f", "a", "b", replace_all=everywhere)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (("x = " + "ab " * 700 + "\n") * 4_000, "x = " + "ba " * 700 + "!", "y"),
        ("}\n" * 49_000, "}\n" * 498 + "{\n}\n", "x\n"),
        ("  }\n" * 40_000 + "y\n", "}\n" * 400 + "y\n  x\n", "}\n" * 1_900),
        ("\n" * 300_000, "a\nb\n", "c\n"),
    ],
    ids=["long lines", "alike lines", "alike new lines", "many lines"],
)
def test_a_search_for_what_is_not_there_ends(workspace: Workspace, root: Path, text: str, old: str, new: str) -> None:
    (root / "f").write_text(text)
    began = time.monotonic()
    with pytest.raises(ToolFailed, match="does not stand in f"):
        update_file.tool(workspace)("f", old, new)
    assert time.monotonic() - began < 30
