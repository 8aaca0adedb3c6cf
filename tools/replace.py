"""Replace a file's content as one step: another process sees the old bytes or the new ones, never half of both.

Only a file with several hard links is written in place.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from weakref import WeakValueDictionary

from pydantic_ai.exceptions import ToolFailed

IN_PLACE_BYTES = 64 * 1024 * 1024
_locks: WeakValueDictionary[Path, threading.Lock] = WeakValueDictionary()
_guard = threading.Lock()


@contextmanager
def exclusive(path: Path) -> Generator[None]:
    """Let one tool at a time change a real path; the others wait their turn."""
    with _guard:
        lock = _locks.setdefault(path, threading.Lock())
    with lock:
        yield


def refuse_unwritable(path: Path, name: str) -> None:
    """Refuse what an in-place write would be refused for: a rename would get round a read-only mode.

    Raises:
        ToolFailed: the existing file is not a regular file or not writable.
    """
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise ToolFailed(f"{name} is a directory; give the path of a file.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolFailed(f"{name} is not a regular file (a device, pipe or socket) and cannot be written.")
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        mode = stat.S_IMODE(status.st_mode)
        raise ToolFailed(f"{name} is read-only (mode {mode:04o}); change its mode first if it is meant to be edited.")


@dataclass(frozen=True)
class Stamp:
    """What tells, without reading it, that a file was touched; `None` stands for a file that is not there."""

    device: int
    inode: int
    size: int
    modified_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def replace(path: Path, name: str, content: bytes, expected: Stamp | None) -> str:
    """Write `content` as the whole file `path`, provided that the file still bears the `expected` stamp.

    A new file is created under the umask. An old one keeps its mode, owner and extended attributes. One that has
    several hard links is written in place, for a rename would part them; returns a note that says so, or nothing.

    Raises:
        ToolFailed: the file was touched meanwhile, its directory does not allow a new file, or its owner cannot be
            kept.
    """
    status = _status(path)
    if status and status.st_nlink > 1:
        if status.st_size > IN_PLACE_BYTES:
            raise ToolFailed(
                f"{name} has {status.st_nlink} hard links and is too big to be written in place; use bash."
            )
        _refuse_touched(path, name, expected)
        _overwrite(path, content)
        return f" It was written in place, for {status.st_nlink} hard links share it."
    temporary = path.parent / f".{secrets.token_hex(8)}.tmp"
    mode = 0o600 if status else 0o666  # until it has the old file's own, nobody else may look into it
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except PermissionError:
        raise ToolFailed(f"{name} cannot be written: its directory does not allow new files.") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if status:
                _inherit(path, temporary, name)
            file.flush()
            os.fsync(file.fileno())
        _refuse_touched(path, name, expected)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)
    return ""


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _refuse_touched(path: Path, name: str, expected: Stamp | None) -> None:
    status = _status(path)
    if (Stamp.of(status) if status else None) != expected:
        raise ToolFailed(f"{name} was changed by another program at this very moment; read it and try again.")


def _overwrite(path: Path, content: bytes) -> None:
    """Write in place; what was there is put back if that fails."""
    with path.open("r+b") as file:
        before = file.read()
        try:
            _fill(file, content)
        except BaseException:
            _fill(file, before)
            raise


def _fill(file: BinaryIO, content: bytes) -> None:
    file.seek(0)
    file.write(content)
    file.truncate()
    file.flush()
    os.fsync(file.fileno())


def _inherit(original: Path, copy: Path, name: str) -> None:
    old, new = original.stat(), copy.stat()
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.chown(copy, old.st_uid, old.st_gid)
        except PermissionError:
            raise ToolFailed(f"{name} belongs to another user or group, which replacing it would lose.") from None
    shutil.copystat(original, copy)
    os.utime(copy)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
