"""Keep the head and the tail of a program's output, whatever its size, and turn it into clean text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HEAD_BYTES = 12_000
TAIL_BYTES = 24_000

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, hyperlinks
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movements
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # DCS, SOS, PM, APC strings
    r"|\x1b[ -/]*[0-Z\\-~]"
)
_HALF_AT_END = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")
_HALF_AT_START = re.compile(rb"\A[\x80-\xbf]{1,3}")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


@dataclass
class Output:
    """A program's merged output. Whatever its size, at most 12,000 bytes of head and 48,000 of tail are in memory."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    size: int = 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        free = HEAD_BYTES - len(self.head)
        self.head += data[:free]
        self.tail += data[free:]
        if len(self.tail) > 2 * TAIL_BYTES:
            del self.tail[:-TAIL_BYTES]

    def text(self) -> str:
        """All of it, or its head and tail with the number of bytes between them."""
        head, tail = bytes(self.head), bytes(self.tail[-TAIL_BYTES:])
        if self.size == len(head) + len(tail):
            return clean(head + tail)
        head, tail = _HALF_AT_END.sub(b"", head), _HALF_AT_START.sub(b"", tail)
        left_out = self.size - len(head) - len(tail)
        return f"{clean(head)}\n[… {left_out:,} bytes of output left out …]\n{clean(tail)}"

    def last_line(self) -> str:
        """The newest line that is not blank, at most 200 characters of it."""
        recent = clean(bytes((self.tail or self.head)[-2_000:]))
        return next((line.strip()[-200:] for line in reversed(recent.splitlines()) if line.strip()), "")


def clean(data: bytes) -> str:
    """Bytes as text: terminal escapes taken out, other control characters and invalid UTF-8 shown as \\xNN.

    A carriage return starts a new line, as progress bars mean it to overwrite one.
    """
    text = _ESCAPES.sub("", data.decode("utf-8", "backslashreplace"))
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNPRINTABLE.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
