"""Text that is safe to write: streams that bear closed pipes and narrow encodings, strings without controls."""

from __future__ import annotations

import errno
import io
import os
import select
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Bidirectional overrides and isolates reorder what a person reads, so they count as controls.
_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_CONTROLS = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u2028", "\u2029", *_BIDI]


class _Descriptor(io.RawIOBase):
    """A file descriptor that takes all text; once the first is lost, so is the rest."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.failure: OSError | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return os.isatty(self._fd)

    def write(self, data: Buffer, /) -> int:
        while self.failure is None:
            try:
                return os.write(self._fd, data)
            except BlockingIOError:
                select.select([], [self._fd], [])
            except OSError as error:
                self.failure = error
        return memoryview(data).nbytes


class Guarded(io.TextIOWrapper):
    """A stream to a descriptor on which writing never fails: a turn must not end because nobody can read it.

    A character that the encoding lacks is written as its escape.
    """

    def __init__(self, fd: int, encoding: str) -> None:
        self._descriptor = _Descriptor(fd)
        super().__init__(
            io.BufferedWriter(self._descriptor),
            encoding=encoding,
            errors="backslashreplace",
            line_buffering=True,
        )

    @property
    def loss(self) -> OSError | None:
        """Why output was lost although someone wants it: a full disk, but not a reader that has gone."""
        self.flush()
        failure = self._descriptor.failure
        return None if failure is None or failure.errno in (errno.EPIPE, errno.EIO) else failure


def guarded(stream: TextIO | None) -> TextIO:
    """A guarded stream in place of a standard one; of a closed one, a stream that goes nowhere."""
    if stream is None:
        return io.StringIO()
    try:
        return Guarded(stream.fileno(), stream.encoding)
    except (OSError, ValueError):
        return stream


def occupy_standard_descriptors() -> None:
    """Open what was closed of 0, 1 and 2, or the next file to be opened, such as the store, would be stderr."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def plain(text: str) -> str:
    """Text for a terminal: control characters are gone, newlines and tabs stay."""
    return text.translate(_DROPPED)


def visible(text: str) -> str:
    """Text for one line of a terminal, with nothing hidden: controls and line breaks as their escapes."""
    return text.translate(_ESCAPED)


def encodable(text: str, stream: TextIO) -> bool:
    """Whether the stream can show the text as it is."""
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _escape(char: str) -> str:
    return repr(char)[1:-1] if unicodedata.category(char) == "Cc" else f"\\u{ord(char):04x}"


_DROPPED: Mapping[int, None] = {ord(c): None for c in _CONTROLS if c not in "\n\t\u2028\u2029"}
_ESCAPED: Mapping[int, str] = {ord(c): _escape(c) for c in _CONTROLS}


def size_of(stream: TextIO) -> tuple[int, int]:
    """Columns and rows of the terminal behind a stream; COLUMNS and LINES win, and 80 by 24 is the guess."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        size = os.terminal_size((80, 24))
    return _wanted("COLUMNS") or size.columns or 80, _wanted("LINES") or size.lines or 24


def _wanted(name: str) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isascii() and value.isdigit() else 0


def width_of(stream: TextIO) -> int | None:
    """The columns of the terminal behind a stream; `None` when it is no terminal."""
    return size_of(stream)[0] if stream.isatty() else None
