"""Which process runs a turn, and whether it still lives and runs."""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


@dataclass(frozen=True)
class Owner:
    """One process of one boot of one machine; `started` and `boot` tell a process id that was used again.

    `boot` and `namespace` (of process ids: a container has its own) are known on Linux only.
    """

    host: str
    pid: int
    started: str | None
    boot: str | None
    namespace: int | None


def this_process() -> Owner:
    pid = os.getpid()
    return Owner(socket.gethostname(), pid, started=_started(pid), boot=_boot(), namespace=_namespace())


_HALTED = ("T", "t")
_DEAD = ("Z", "X")


class Condition(Enum):
    """What can be seen of an owner; nothing of one that belongs to another machine or container."""

    RUNNING = "running"
    STOPPED = "stopped"
    GONE = "gone"
    UNSEEN = "unseen"


def condition_of(owner: Owner) -> Condition:
    """Whether the owner still lives, and is not halted by a signal or a debugger."""
    boot = _boot()
    if owner.host == socket.gethostname() and owner.boot != boot:
        return Condition.GONE
    if owner.boot != boot or owner.namespace != _namespace():
        return Condition.UNSEEN
    if boot is None and owner.host != socket.gethostname():
        return Condition.UNSEEN
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return Condition.GONE
    except PermissionError:
        pass  # it lives, and belongs to someone else
    started, state = _seen(owner.pid)
    if started != owner.started:
        return Condition.GONE
    return Condition.STOPPED if state in _HALTED else Condition.RUNNING


def _boot() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def _namespace() -> int | None:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return None


def _started(pid: int) -> str | None:
    return _seen(pid)[0]


def _seen(pid: int) -> tuple[str | None, str]:
    """When a process started, in its system's own words, and its state; `None` for one that is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return (None, "") if Path("/proc/self/stat").exists() else _seen_by_ps(pid)
    state, *rest = stat[stat.rindex(")") + 2 :].split()
    return (None if state in _DEAD else rest[18]), state


def _seen_by_ps(pid: int) -> tuple[str | None, str]:
    ps = subprocess.run(
        ["ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    state, _, started = ps.stdout.strip().partition(" ")
    return (started.strip() or None if state[:1] not in _DEAD else None), state[:1]
