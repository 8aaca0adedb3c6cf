"""Which process runs a turn, and whether it still lives."""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass
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


def is_alive(owner: Owner) -> bool | None:
    """Whether the owner still runs; `None` when it cannot be told: it belongs to another machine or container."""
    boot = _boot()
    if owner.host == socket.gethostname() and owner.boot != boot:
        return False
    if owner.boot != boot or owner.namespace != _namespace():
        return None
    if boot is None and owner.host != socket.gethostname():
        return None
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it lives, and belongs to someone else
    return _started(owner.pid) == owner.started


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
    """When a process started, in its system's own words; `None` for one that is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None if Path("/proc/self/stat").exists() else _started_by_ps(pid)
    state, *rest = stat[stat.rindex(")") + 2 :].split()
    return None if state in "ZX" else rest[18]


def _started_by_ps(pid: int) -> str | None:
    ps = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    return ps.stdout.strip() or None
