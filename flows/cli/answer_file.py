"""`--output-file`: the answer, or an export, in a file, whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .failures import Misuse


class AnswerFile:
    """A file that will hold the answer or an export, checked before anything is spent on one.

    Raises:
        Misuse: the file could not be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._real = Path(os.path.realpath(path))
        if self._real.is_dir():
            raise Misuse(f"--output-file {path} is a directory; name a file")
        if not self._real.parent.is_dir():
            raise Misuse(f"--output-file {path} is in a directory that does not exist; create it first")
        written = self._real if self._real.exists() else self._real.parent
        if not os.access(written, os.W_OK) or (self._replaces() and not os.access(self._real.parent, os.W_OK)):
            raise Misuse(f"--output-file {path} may not be written: permission denied")

    def write(self, answer: str) -> None:
        """Put the answer, ended by one newline, in place of what the file held. A device or pipe is written to.

        Raises:
            OSError: it could not be written; the file is as it was.
        """
        with self.writing() as file:
            file.write(f"{answer.rstrip(chr(10))}\n".encode("utf-8", "backslashreplace"))

    @contextmanager
    def writing(self, *, private: bool = False) -> Generator[BinaryIO]:
        """A file that takes the place of this one at the end of the block, and is gone if the block raises.

        It has the mode of the file it replaces; with `private` only the user may read it.

        Raises:
            OSError: it could not be written; the file is as it was.
        """
        if not self._replaces():
            with self._real.open("wb") as device:
                yield device
            return
        temporary = self._real.parent / f".{self._real.name[:200]}.{os.urandom(4).hex()}.tmp"
        mode = 0o600 if private else 0o666
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                if self._real.exists() and not private:
                    os.fchmod(file.fileno(), stat.S_IMODE(self._real.stat().st_mode))
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._real)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _replaces(self) -> bool:
        return self._real.is_file() or not self._real.exists()
