"""glob puts files in the order asked for and shows what it went by."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest
from turngraph.tools import glob
from turngraph.tools.order import ordered
from turngraph.tools.workspace import Workspace

pytestmark = pytest.mark.anyio

SIZES = {"b.txt": 2_000, "a.txt": 2_000, "src/small.txt": 1, "src/large.txt": 30_000, "none.txt": 0}


@pytest.fixture
def files(root: Path) -> Path:
    for age, (name, size) in enumerate(SIZES.items()):
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * size)
        os.utime(path, (0, 1_700_000_000 - age))
    return root


async def test_the_largest_come_first_with_their_sizes(workspace: Workspace, files: Path):
    assert (await glob.tool(workspace)("*", order="size")).splitlines()[1:] == [
        "30,000 bytes  src/large.txt",
        "2,000 bytes  a.txt",
        "2,000 bytes  b.txt",
        "1 byte  src/small.txt",
        "0 bytes  none.txt",
    ]


async def test_the_one_changed_last_comes_first_with_its_local_time(workspace: Workspace, files: Path):
    shown = (await glob.tool(workspace)("*", order="modified")).splitlines()[1:]
    assert [line.split("  ")[1] for line in shown] == list(SIZES)
    times = [datetime.strptime(line.split("  ")[0], "%Y-%m-%d %H:%M:%S %z").timestamp() for line in shown]
    assert times == [1_700_000_000 - age for age in range(len(SIZES))]


async def test_a_limit_leaves_out_and_counts_the_rest(workspace: Workspace, files: Path):
    text = await glob.tool(workspace)("*", order="size", limit=2)
    assert text.splitlines()[0].startswith("[5 files found")
    assert text.splitlines()[1:] == [
        "30,000 bytes  src/large.txt",
        "2,000 bytes  a.txt",
        "[not shown: 3 more files; narrow the pattern or path]",
    ]


def test_files_gone_meanwhile_are_counted(files: Path):
    found, notes = ordered(files, ["a.txt", "gone.txt"], "size")
    assert found == [("a.txt", "2,000 bytes  ")]
    assert notes == ["[not ordered: 1 file that went away meanwhile or cannot be looked at]"]


def test_a_time_out_of_range_is_shown_as_it_is(files: Path):
    os.utime(files / "a.txt", (0, 1 << 33))
    os.utime(files / "b.txt", (0, -(1 << 31)))
    assert [name for name, _ in ordered(files, ["b.txt", "a.txt"], "modified")[0]] == ["a.txt", "b.txt"]
