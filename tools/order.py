"""Files in another order than by path: the largest first, or the one changed last first."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from .wording import count

Order = Literal["path", "size", "modified"]


def ordered(directory: Path, names: Sequence[str], by: Order) -> tuple[list[tuple[str, str]], list[str]]:
    """Each name with what it was ordered by, to be written before it, and a line that counts files now gone.

    Sizes are in bytes and times are the file system's last modification, in local time with its offset. By `path`
    the names stay as they are. Files alike are ordered by path.
    """
    if by == "path":
        return [(name, "") for name in names], []
    found: list[tuple[int, str]] = []
    for name in names:
        try:
            status = os.stat(directory / name, follow_symlinks=False)  # noqa: PTH116
        except OSError:
            continue
        found.append((-(status.st_size if by == "size" else status.st_mtime_ns), name))
    found.sort()
    gone = len(names) - len(found)
    notes = [f"[not ordered: {count(gone, 'file')} that went away meanwhile or cannot be looked at]"] if gone else []
    return [(name, _label(-value, by) + "  ") for value, name in found], notes


def _label(value: int, by: Order) -> str:
    if by == "size":
        return count(value, "byte")
    try:
        return f"{datetime.fromtimestamp(value // 1_000_000_000).astimezone():%Y-%m-%d %H:%M:%S %z}"
    except (OverflowError, ValueError, OSError):
        return f"{value // 1_000_000_000} seconds after 1970"
