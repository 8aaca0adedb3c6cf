"""Cut a page out of a text file of any size, reading it as a stream."""

from __future__ import annotations

import codecs
import os
import re
from dataclasses import dataclass, field
from typing import BinaryIO

from pydantic_ai.exceptions import ToolFailed

from .wording import count

LINE_CHARACTERS = 2_000
PAGE_CHARACTERS = 100_000
COUNTED_BYTES = 256 * 1024 * 1024
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


def refuse_binary(head: bytes, name: str, size: int) -> None:
    """Refuse a file that is not text, going by its first bytes.

    Raises:
        ToolFailed: it is UTF-16 or holds NUL bytes.
    """
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ToolFailed(f"{name} is UTF-16 text of {size:,} bytes; convert it to UTF-8 with bash (iconv) first.")
    if b"\0" in head:
        raise ToolFailed(f"{name} is a binary file of {size:,} bytes; use bash with a program that understands it.")


def read_page(file: BinaryIO, name: str, offset: int, limit: int, column: int) -> Page:
    """Read up to `limit` lines from line `offset`, each from character `column`; all counted from 1.

    Raises:
        ToolFailed: the file is binary, or ends before line `offset`.
    """
    head = file.read(_PROBE)
    refuse_binary(head, name, os.fstat(file.fileno()).st_size)
    bom = head.startswith(codecs.BOM_UTF8)
    file.seek(len(codecs.BOM_UTF8) if bom else 0)
    skipped = 0
    while skipped < offset - 1 and _skip_line(file):
        skipped += 1
    page = Page(first=offset)
    lines = _fill(page, file, limit, column)
    if not page.lines and offset > 1:
        raise ToolFailed(f"{name} has {count(skipped, 'line')}, there is no line {offset:,}; give a smaller offset.")
    rest, page.counted = _count_lines(file)
    page.total = skipped + len(lines) + rest
    page.traits = _traits(bom, lines)
    return page


def _fill(page: Page, file: BinaryIO, limit: int, column: int) -> list[_Line]:
    """Put lines on the page; returns the lines taken from the file, one more than fit where the page is full."""
    taken: list[_Line] = []
    size = 0
    while len(taken) < limit and (line := _read_line(file, column)):
        taken.append(line)
        size += len(line.text)
        if page.lines and size > PAGE_CHARACTERS:
            page.full = True
            break
        page.lines.append(line.text)
    return taken


def _read_line(file: BinaryIO, column: int) -> _Line | None:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    start, stop = column - 1, column - 1 + LINE_CHARACTERS
    shown, length, undecoded, ended, last = "", 0, False, False, ""
    empty = True
    while not ended and (piece := file.readline(_CHUNK)):
        empty = False
        ended = piece.endswith(b"\n")
        text = decoder.decode(piece.removesuffix(b"\n"), final=ended)
        undecoded = undecoded or _UNDECODED.search(text) is not None
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
    return _Line(visible(shown) + _cut(length, start, stop), undecoded or bool(text) or "\0" in shown, ending)


def visible(text: str) -> str:
    """Text in which undecoded bytes (surrogate escapes) and NULs are shown as \\xNN."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace").replace("\0", "\\x00")


def _cut(length: int, start: int, stop: int) -> str:
    if length > stop:
        return f"… [{length - stop:,} more characters in this line: column={stop + 1}]"
    if start and length <= start:
        return f"[this line has only {length:,} characters]"
    return ""


def _skip_line(file: BinaryIO) -> bool:
    some = False
    while piece := file.readline(_CHUNK):
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


def _traits(bom: bool, lines: list[_Line]) -> list[str]:
    endings = {line.ending for line in lines} - {""}
    traits = ["UTF-8 with BOM"] if bom else []
    if len(endings) > 1:
        traits.append("mixed line ends")
    elif endings == {"\r\n"}:
        traits.append("CRLF line ends")
    if any(line.undecoded for line in lines):
        traits.append("not all UTF-8: some bytes are shown as \\xNN")
    return traits
