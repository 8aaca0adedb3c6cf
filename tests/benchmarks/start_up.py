"""How soon the command line answers about itself, against importing typer alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from .table import Row

AT_MOST = 1.3
_PEER = ("-c", "import typer")


def rows(rounds: int, directory: Path) -> Iterator[Row]:
    """CPU time of the whole process; what is compiled once is compiled before."""
    for flag in ("--help", "--version"):
        asked = ("-m", "turngraph", flag)
        _cpu(asked, directory)
        both = [(_cpu(asked, directory), _cpu(_PEER, directory)) for _ in range(rounds)]
        peer = [peer for _, peer in both]
        yield Row(f"`turngraph {flag}`", [ours for ours, _ in both], "`import typer`", peer, AT_MOST)


def _cpu(arguments: Sequence[str], directory: Path) -> float:
    """Milliseconds of user and system time that a Python process took."""
    out = os.open(directory / "out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        actions = [(os.POSIX_SPAWN_DUP2, out, 1)]
        pid = os.posix_spawn(sys.executable, [sys.executable, *arguments], os.environ, file_actions=actions)
    finally:
        os.close(out)
    _, status, used = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, arguments
    return (used.ru_utime + used.ru_stime) * 1000
