"""Find and end the descendants of a command, those that left its process group too."""

from __future__ import annotations

import os
import secrets
import signal
import time
from dataclasses import dataclass, field

import anyio

GRACE_SECONDS = 0.5
KILL_SECONDS = 2.0
_POLL_SECONDS = 0.02
_VARIABLE = "TURNGRAPH_CALL"
_ENVIRONMENT_BYTES = 4 * 1024 * 1024


def _ticks() -> int:
    """Now, in the clock ticks since boot that /proc gives as a process's start."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")) - 1


@dataclass
class Family:
    """The processes of one command: its process group, and whoever inherited its mark in the environment.

    A process that leaves the group and clears its environment is not found. Without /proc (as on macOS) only the
    group is known, and stands for one process.
    """

    name: str = field(default_factory=lambda: secrets.token_hex(8))
    born: int = field(default_factory=_ticks)
    group: int = 0

    @property
    def mark(self) -> dict[str, str]:
        """The variable to put into the command's environment."""
        return {_VARIABLE: self.name}

    def members(self) -> list[int]:
        """The living ones; zombies, which only wait for their parent, are not alive."""
        if os.access("/proc/self/stat", os.R_OK):
            with os.scandir("/proc") as entries:
                return [int(entry.name) for entry in entries if entry.name.isdigit() and self._owns(entry.name)]
        try:
            os.killpg(self.group, 0)
        except (ProcessLookupError, PermissionError):
            return []
        return [self.group]

    def _owns(self, pid: str) -> bool:
        try:
            fields = _read(f"/proc/{pid}/stat", 4096).rpartition(b")")[2].split()
            state, group, born = fields[0], int(fields[2]), int(fields[19])
            if state in (b"Z", b"X"):
                return False
            if group == self.group or born < self.born:
                return group == self.group
            environment = _read(f"/proc/{pid}/environ", _ENVIRONMENT_BYTES)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return False
        return f"{_VARIABLE}={self.name}".encode() in environment.split(b"\0")


async def end(family: Family) -> int:
    """End every member, politely, then by force; returns how many there were beside the command itself."""
    alive = family.members()
    beside = [pid for pid in alive if pid != family.group]
    if alive:
        _signal(family, alive, signal.SIGTERM)
        alive = await _wait(family, GRACE_SECONDS)
    deadline = anyio.current_time() + KILL_SECONDS
    while alive and anyio.current_time() < deadline:
        _signal(family, alive, signal.SIGKILL)
        alive = await _wait(family, _POLL_SECONDS)
    return len(beside)


async def _wait(family: Family, seconds: float) -> list[int]:
    """Wait until nobody is alive or the time is up; returns who still is."""
    alive = family.members()
    for _ in range(round(seconds / _POLL_SECONDS)):
        if not alive:
            break
        await anyio.sleep(_POLL_SECONDS)
        alive = family.members()
    return alive


def _signal(family: Family, alive: list[int], number: signal.Signals) -> None:
    """Signal the group at once, so that none forks away, and one by one those that left it."""
    signalled = False
    for pid in alive:
        try:
            if os.getpgid(pid) != family.group:
                os.kill(pid, number)
            elif not signalled:
                os.killpg(family.group, number)
                signalled = True
        except (ProcessLookupError, PermissionError):
            continue


def _read(path: str, limit: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, limit)
    finally:
        os.close(descriptor)
