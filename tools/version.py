"""Which state of a file was seen: told by its content, not by its time."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import BinaryIO

HASHED_BYTES = 64 * 1024 * 1024
_CHUNK = 256 * 1024


@dataclass(frozen=True)
class Version:
    """A state of a file. Two are equal where the contents are, whenever they were written.

    Of a file of more than 64 MiB the content is not hashed; its inode, size and time stand for it.
    """

    state: str

    @classmethod
    def of(cls, file: BinaryIO) -> Version:
        """The version of an open file, which is left at its beginning."""
        status = os.fstat(file.fileno())
        if status.st_size > HASHED_BYTES:
            return cls(f"{status.st_dev}:{status.st_ino} {status.st_size} {status.st_mtime_ns}")
        digest = hashlib.sha256()
        file.seek(0)
        while piece := file.read(_CHUNK):
            digest.update(piece)
        file.seek(0)
        return cls(digest.hexdigest())

    @classmethod
    def of_bytes(cls, content: bytes) -> Version:
        """The version of a file that holds this content, at most 64 MiB."""
        return cls(hashlib.sha256(content).hexdigest())
