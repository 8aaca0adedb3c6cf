"""Replace a file's content as one step: another process sees the old bytes or the new ones, never half of both."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from pydantic_ai.exceptions import ToolFailed

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


def replace(path: Path, name: str, content: bytes) -> None:
    """Write `content` as the whole file `path`, creating it under the umask or keeping its mode, owner and xattrs.

    Raises:
        ToolFailed: the directory does not allow a new file, or the file's owner cannot be kept.
    """
    temporary = path.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except PermissionError:
        raise ToolFailed(f"{name} cannot be written: its directory does not allow new files.") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if path.exists():
                _inherit(path, temporary, name)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


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
