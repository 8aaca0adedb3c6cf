"""Nothing outlives a test: no child process, thread, open socket or pipe, and no file in the temporary directory."""

from __future__ import annotations

import gc
import os
import secrets
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long a draw takes says how busy the machine is, and nothing about the code.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

GRACE_SECONDS = 3.0
_MARK = "TESTS_OF_TURNGRAPH"
_STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"}
_HELD = ("socket:", "pipe:", "anon_inode:[eventpoll]", "anon_inode:[pidfd]")


class _Starts:
    """Whether a process was started since the last look, so that the process table is read only when it must be."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.seen = True

    def hear(self, event: str, _: object) -> None:
        if event in _STARTS:
            self.seen = True


@pytest.fixture(scope="session", autouse=True)
def _marked() -> Generator[_Starts]:  # pyright: ignore[reportUnusedFunction] - pytest calls it
    """Mark what this worker starts by a variable, which children of children inherit, orphans too."""
    starts = _Starts(f"{_MARK}={secrets.token_hex(8)}")
    sys.addaudithook(starts.hear)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(*starts.mark.split("="))
        yield starts


@pytest.fixture(scope="session", autouse=True)
def _temporary(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:  # pyright: ignore[reportUnusedFunction]
    """A temporary directory of this worker's own, for it and for what it starts."""
    directory = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(directory))
        patch.setattr(tempfile, "tempdir", str(directory))
        yield directory


@pytest.fixture(autouse=True)
def _nothing_is_left(_marked: _Starts, _temporary: Path) -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    looks: dict[str, Callable[[], set[object]]] = {
        "process": lambda: _processes(_marked.mark) if _marked.seen else set(),
        "thread": _threads,
        "open file": _descriptors,
        "temporary file": lambda: set(_temporary.iterdir()),
    }
    before = {what: look() for what, look in looks.items()}
    known = before["process"]
    _marked.seen = bool(known)
    yield
    left = {what: _left(look, before[what]) for what, look in looks.items()}
    _marked.seen = bool(known)
    for process in left["process"]:
        with suppress(ProcessLookupError):
            os.kill(int(str(process).split()[0]), signal.SIGKILL)
    assert {what: sorted(map(str, some)) for what, some in left.items() if some} == {}


def _left(look: Callable[[], set[object]], before: set[object]) -> set[object]:
    """What is there and was not, after what is about to go has had the time to."""
    deadline = time.monotonic() + GRACE_SECONDS
    while left := look() - before:
        if time.monotonic() > deadline:
            break
        gc.collect()
        time.sleep(0.02)
    return left


def _processes(mark: str) -> set[object]:
    """Children of this process, also dead ones not waited for, and who lives and bears its mark, as `PID COMMAND`."""
    found: set[object] = set()
    for entry in Path("/proc").iterdir() if sys.platform == "linux" else ():
        if not entry.name.isdigit():
            continue
        try:
            head, _, tail = (entry / "stat").read_text(errors="replace").rpartition(")")
            marked = mark.encode() in (entry / "environ").read_bytes()
        except OSError:
            continue
        state, parent = tail.split()[:2]
        if int(parent) == os.getpid() or (marked and state not in "ZX"):
            found.add(f"{entry.name} {head.partition('(')[2]}")
    return found


def _threads() -> set[object]:
    return {thread for thread in threading.enumerate() if not thread.daemon}


def _descriptors() -> set[object]:
    found: set[object] = set()
    for entry in Path("/proc/self/fd").iterdir() if sys.platform == "linux" else ():
        try:
            target = os.readlink(entry)  # noqa: PTH115 - what it names is no path
        except OSError:
            continue
        if target.startswith(_HELD):
            found.add(f"{entry.name} {target}")
    return found
