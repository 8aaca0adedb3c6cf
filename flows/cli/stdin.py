"""What is piped in: read to its end, but never waited for where nobody will ever write.

| stdin                 | with a prompt on the command line |
|-----------------------|---|
| a terminal, a device such as /dev/null, closed | not read |
| a file                | read from where it stands to its end |
| a pipe or a socket    | read to its end once a first byte came; without one in 3 seconds it is left alone and that |
|                       | is said, unless stderr is a terminal: then someone sees the wait and can press Ctrl-C |

`--stdin` reads it in any case and however long it takes; `--no-stdin` never does, which a loop needs that feeds on
the same stdin.
"""

from __future__ import annotations

import codecs
import os
import re
import select
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from ...tools.wording import count
from . import signals
from .failures import Misuse

PATIENCE = 3.0
LARGEST = 4 * 1024 * 1024
_PIECE = 64 * 1024
_LOST = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True)
class Piped:
    """Text from stdin, and what a person should know about it."""

    text: str
    warnings: tuple[str, ...] = ()


def read_to_the_end() -> Piped:
    """All of stdin.

    Raises:
        Misuse: it is closed, unreadable, binary, or larger than 4 MiB.
    """
    if sys.stdin is None:
        raise Misuse("stdin is closed, so nothing can be read from it")
    fd = sys.stdin.fileno()
    try:
        data = b"".join(_pieces(fd))
    except OSError as error:
        raise Misuse(f"stdin cannot be read: {error.strerror}") from None
    return _decoded(data, sys.stdin.encoding or "utf-8")


def read_what_is_piped_in() -> Piped:
    """What the table of this module says; an empty text where there is nothing."""
    if sys.stdin is None:
        return Piped("")
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except OSError:
        return Piped("")
    if stat.S_ISREG(mode):
        return read_to_the_end()
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return Piped("")
    if _someone_writes(sys.stdin.fileno()):
        return read_to_the_end()
    idle = f"stdin is an open pipe on which nothing came in {PATIENCE:g} s, so it was left alone"
    return Piped("", (f"{idle}; --stdin waits for it, --no-stdin never looks",))


def _someone_writes(fd: int) -> bool:
    """Whether there is something to read, or the end, before patience is over; a person is waited with."""
    if _readable(fd, PATIENCE):
        return True
    if sys.stderr is None or not sys.stderr.isatty():
        return False
    signals.say("waiting for what is piped in; Ctrl-C ends, --no-stdin does not wait")
    return _readable(fd, None)


def _readable(fd: int, seconds: float | None) -> bool:
    # Not select(): it knows no descriptor above 1023.
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def _pieces(fd: int) -> Iterator[bytes]:
    size = 0
    while True:
        try:
            piece = os.read(fd, _PIECE)
        except BlockingIOError:
            _readable(fd, None)
            continue
        if not piece:
            return
        size += len(piece)
        if size > LARGEST:
            limit = f"{LARGEST // 2**20} MiB"
            raise Misuse(f"stdin holds more than {limit}, more than any model reads; name a file in the prompt instead")
        yield piece


def _decoded(data: bytes, encoding: str) -> Piped:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif data.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    elif (at := data.find(0)) >= 0:
        raise Misuse(f"stdin is no text (byte {at} is a NUL); pipe in text, or name a file in the prompt")
    if encoding == "utf-16":
        return Piped(data.decode(encoding, "replace"))
    lost = len(_LOST.findall(data.decode(encoding, "surrogateescape")))
    text = data.decode(encoding, "backslashreplace")
    if not lost:
        return Piped(text)
    amount = f"{count(lost, 'byte')} of stdin"
    return Piped(text, (f"{amount} could not be read as {encoding.removesuffix('-sig')} and became \\xNN",))
