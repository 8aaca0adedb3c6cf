"""The tool grep over many small files, against `rg` itself and one more start of it."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
from turngraph.tools import grep, ripgrep
from turngraph.tools.workspace import Workspace

from .table import Row

AT_MOST = 1.2
FILES = 20_000
_A_FOLDER = 100
_EVERY = 1000


def rows(rounds: int, directory: Path, files: int = FILES) -> Iterator[Row]:
    """Wall time, and CPU time of this process and those it started."""
    root = directory / "tree"
    _grow(root, files)
    _peer(root)
    anyio.run(_ours, root, files)
    both = [(anyio.run(_ours, root, files), _peer(root)) for _ in range(rounds)]
    for place, clock in enumerate(("wall time", "CPU time")):
        what = f"grep over {files:,} files, {clock}"
        peer_name = "`rg`, and starting it"
        yield Row(what, [ours[place] for ours, _ in both], peer_name, [peer[place] for _, peer in both], AT_MOST)


def _grow(root: Path, files: int) -> None:
    for number in range(files):
        folder = root / f"package_{number // _A_FOLDER:03}"
        if number % _A_FOLDER == 0:
            folder.mkdir(parents=True)
        lines = [f"def function_{number}_{line}(value: int) -> int:\n    return value + {line}\n" for line in range(10)]
        needle = "# NEEDLE\n" if number % _EVERY == 0 else ""
        (folder / f"module_{number}.py").write_text("\n".join([*lines, needle]), encoding="utf-8")


async def _ours(root: Path, files: int) -> tuple[float, float]:
    search = grep.tool(Workspace(root))
    began, used = time.perf_counter(), _used()
    found = await search("NEEDLE")
    taken = (time.perf_counter() - began) * 1000, (_used() - used) * 1000
    expected = -(-files // _EVERY)
    assert found.startswith(f"[{expected} matching lines in {expected} of {files:,} files]"), found[:200]
    return taken


def _peer(root: Path) -> tuple[float, float]:
    search = ("--no-config", "--hidden", "--line-number", "NEEDLE", ".")
    began, used = time.perf_counter(), _used()
    for arguments in (search, ("--version",)):
        command = [ripgrep.executable(), *arguments]
        subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return (time.perf_counter() - began) * 1000, (_used() - used) * 1000


def _used() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)
