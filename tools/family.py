"""Find and end the descendants of a command, those that left its process group too."""

from __future__ import annotations

import os
import secrets
import signal
from dataclasses import dataclass
from pathlib import Path

import anyio

GRACE_SECONDS = 0.5
KILL_SECONDS = 2.0
_POLL_SECONDS = 0.02
_VARIABLE = "TURNGRAPH_CALL"
_PROC = Path("/proc")


@dataclass
class Family:
    """The processes of one command: its process group, and whoever inherited its mark in the environment.

    Without /proc (as on macOS) only the group is known, and stands for one process.
    """

    name: str
    group: int = 0

    @classmethod
    def new(cls) -> Family:
        return cls(secrets.token_hex(8))

    @property
    def mark(self) -> dict[str, str]:
        """The variable to put into the command's environment."""
        return {_VARIABLE: self.name}

    def members(self) -> list[int]:
        """The living ones; zombies, which only wait for their parent, are not alive."""
        if (_PROC / "self/stat").exists():
            pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
            return [pid for pid in pids if self._owns(pid)]
        try:
            os.killpg(self.group, 0)
        except (ProcessLookupError, PermissionError):
            return []
        return [self.group]

    def _owns(self, pid: int) -> bool:
        try:
            stat = (_PROC / str(pid) / "stat").read_bytes()
            state, _, group = stat.rpartition(b")")[2].split()[:3]
            if state in (b"Z", b"X"):
                return False
            if int(group) == self.group:
                return True
            environment = (_PROC / str(pid) / "environ").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return False
        return f"{_VARIABLE}={self.name}".encode() in environment.split(b"\0")


async def end(family: Family) -> int:
    """End every member, politely, then by force; returns how many there were beside the command itself."""
    alive = family.members()
    beside = [pid for pid in alive if pid != family.group]
    for number, patience in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        for _ in range(round(patience / _POLL_SECONDS)):
            if not alive:
                return len(beside)
            _signal(family, alive, number)
            await anyio.sleep(_POLL_SECONDS)
            alive = family.members()
    return len(beside)


def _signal(family: Family, alive: list[int], number: signal.Signals) -> None:
    for send, target in ((os.killpg, family.group), *((os.kill, pid) for pid in alive)):
        try:
            send(target, number)
        except (ProcessLookupError, PermissionError):
            continue
