"""Cut a page out of a text file of any size, reading it as a stream."""

from __future__ import annotations

import codecs
import os
import re
from dataclasses import dataclass, field
from io import BytesIO
from typing import BinaryIO

from pydantic_ai.exceptions import ToolFailed

from .encoding import Encoding, decode, marked, refuse_binary
from .wording import count

LINE_CHARACTERS = 2_000
PAGE_CHARACTERS = 100_000
COUNTED_BYTES = 256 * 1024 * 1024
CONVERTED_BYTES = 64 * 1024 * 1024
_CHUNK = 64 * 1024
_PROBE = 8 * 1024
_UNDECODED = re.compile("[\udc80-\udcff]")


@dataclass
class Page:
    """Lines of a file, ready to show.

    `total` counts the file's lines; where the file is too big to count them, `counted` is false and `total` is
    what was counted. `full` says that the page ended before its line limit.
    """

    first: int
    lines: list[str] = field(default_factory=list[str])
    total: int = 0
    counted: bool = True
    full: bool = False
    traits: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class _Line:
    text: str
    undecoded: bool
    ending: str


def read_page(file: BinaryIO, name: str, offset: int, limit: int, column: int) -> Page:
    """Read up to `limit` lines from line `offset`, each from character `column`; all counted from 1.

    At most 256 MiB are read on the way to line `offset`, 256 MiB of the page itself and 256 MiB to count the rest, in
    pieces of 64 KiB, so memory stays bounded whatever the file's size.

    Raises:
        ToolFailed: the file is binary, ends before line `offset`, or has that line too far in.
    """
    file, encoding = _as_utf8(file, name)
    budget = _Budget(COUNTED_BYTES)
    skipped = 0
    while skipped < offset - 1 and _skip_line(file, budget):
        skipped += 1
    if budget.spent:
        raise ToolFailed(
            f"Line {offset:,} of {name} is more than {COUNTED_BYTES // 2**20:,} MiB in; use bash (tail, sed) instead."
        )
    page = Page(first=offset)
    budget = _Budget(COUNTED_BYTES)
    lines = _fill(page, file, limit, column, budget)
    if not page.lines and offset > 1:
        raise ToolFailed(f"{name} has {count(skipped, 'line')}, there is no line {offset:,}; give a smaller offset.")
    rest, page.counted = (0, False) if budget.spent else _count_lines(file)
    page.total = skipped + len(lines) + rest
    page.traits = _traits(encoding, lines)
    return page


def _as_utf8(file: BinaryIO, name: str) -> tuple[BinaryIO, Encoding | None]:
    """The file after its byte order mark, in UTF-8, and the encoding that the mark names."""
    head = file.read(_PROBE)
    encoding = marked(head)
    file.seek(len(encoding.mark) if encoding else 0)
    if encoding is None or encoding.codec == "utf-8":
        refuse_binary(head, name, os.fstat(file.fileno()).st_size)
        return file, encoding
    size = os.fstat(file.fileno()).st_size
    if size > CONVERTED_BYTES:
        raise ToolFailed(f"{name} is {encoding.name} text of {size:,} bytes, too many to convert; use bash (iconv).")
    file.seek(0)
    return BytesIO(decode(file.read(CONVERTED_BYTES), name)[0].encode()), encoding


@dataclass
class _Budget:
    """How many bytes may still be read."""

    left: int

    @property
    def spent(self) -> bool:
        return self.left <= 0

    def read(self, file: BinaryIO) -> bytes:
        """The next piece of a line, or nothing at the end of the file or of the budget."""
        piece = b"" if self.spent else file.readline(_CHUNK)
        self.left -= len(piece)
        return piece


def _fill(page: Page, file: BinaryIO, limit: int, column: int, budget: _Budget) -> list[_Line]:
    """Put lines on the page; returns the lines taken from the file, one more than fit where the page is full."""
    taken: list[_Line] = []
    size = 0
    while len(taken) < limit and (line := _read_line(file, column, budget)):
        taken.append(line)
        size += len(line.text)
        if page.lines and size > PAGE_CHARACTERS:
            page.full = True
            break
        page.lines.append(line.text)
    return taken


def _read_line(file: BinaryIO, column: int, budget: _Budget) -> _Line | None:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    start, stop = column - 1, column - 1 + LINE_CHARACTERS
    shown, length, undecoded, ended, last = "", 0, False, False, ""
    empty = True
    while not ended and (piece := budget.read(file)):
        empty = False
        ended = piece.endswith(b"\n")
        text = decoder.decode(piece.removesuffix(b"\n"), final=ended)
        undecoded = undecoded or (not text.isascii() and _UNDECODED.search(text) is not None)
        shown += text[max(0, start - length) : max(0, stop - length)]
        length += len(text)
        last = text[-1:] or last
    if empty:
        return None
    text = "" if ended else decoder.decode(b"", final=True)
    shown += text[max(0, start - length) : max(0, stop - length)]
    length += len(text)
    ending = "\n" if ended else ""
    if ended and last == "\r":
        ending, length = "\r\n", length - 1
        shown = shown[: max(0, length - start)]
    cut = _cut(length, start, stop, at_least=budget.spent and not ended)
    return _Line(visible(shown) + cut, undecoded or bool(text) or "\0" in shown, ending)


def visible(text: str) -> str:
    """Text in which undecoded bytes (surrogate escapes) and NULs are shown as \\xNN."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace").replace("\0", "\\x00")


def _cut(length: int, start: int, stop: int, *, at_least: bool) -> str:
    if length > stop:
        return f"… [{'at least ' if at_least else ''}{length - stop:,} more characters in this line: column={stop + 1}]"
    if start and length <= start:
        return f"[this line has only {length:,} characters]"
    return ""


def _skip_line(file: BinaryIO, budget: _Budget) -> bool:
    some = False
    while piece := budget.read(file):
        some = True
        if piece.endswith(b"\n"):
            break
    return some


def _count_lines(file: BinaryIO) -> tuple[int, bool]:
    lines, read, last = 0, 0, b"\n"
    while read < COUNTED_BYTES and (chunk := file.read(_CHUNK)):
        lines += chunk.count(b"\n")
        read += len(chunk)
        last = chunk[-1:]
    counted = read < COUNTED_BYTES or not file.read(1)
    return lines + (last != b"\n"), counted


def _traits(encoding: Encoding | None, lines: list[_Line]) -> list[str]:
    endings = {line.ending for line in lines} - {""}
    traits = [encoding.name] if encoding else []
    if len(endings) > 1:
        traits.append("mixed line ends")
    elif endings == {"\r\n"}:
        traits.append("CRLF line ends")
    if any(line.undecoded for line in lines):
        traits.append("not all UTF-8: some bytes are shown as \\xNN")
    return traits
