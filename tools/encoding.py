"""Bytes as text and back, in the encoding they came in, or not at all."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from pydantic_ai.exceptions import ToolFailed

_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with BOM"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32 (little-endian)"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32 (big-endian)"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16 (little-endian)"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16 (big-endian)"),
)
_BINARY = "{} is a binary file of {:,} bytes; use bash with a program that understands it."
_SHIFTED = re.compile(rb"\x1b\$[@B(]|\x1b\([IJ]")


@dataclass(frozen=True)
class Encoding:
    """How a file writes its characters: a codec, and the byte order mark before them.

    The codec is `ascii` where the bytes are neither UTF-8 nor marked, as in Latin-1, Windows code pages, GBK or
    Shift_JIS: its ASCII characters are known, and every other byte is carried through as it is.
    """

    codec: str
    mark: bytes = b""
    name: str = "UTF-8"

    @property
    def known(self) -> bool:
        return self.codec != "ascii"

    def encode(self, text: str) -> bytes:
        return self.mark + text.encode(self.codec, "strict" if self.known else "surrogateescape")


def marked(head: bytes) -> Encoding | None:
    """The encoding that a file's byte order mark names."""
    return next((Encoding(codec, mark, name) for mark, codec, name in _MARKS if head.startswith(mark)), None)


def decode(data: bytes, file: str) -> tuple[str, Encoding]:
    """A file's text without its byte order mark, and its encoding; encoding the text again gives the same bytes.

    Raises:
        ToolFailed: it is binary, or no valid text in the encoding that it claims or shows.
    """
    encoding = marked(data)
    if encoding is None:
        if _SHIFTED.search(data):
            raise ToolFailed(f"{file} is ISO-2022 text, which cannot be edited here; convert it with iconv first.")
        encoding = Encoding("utf-8")
    try:
        text = data[len(encoding.mark) :].decode(encoding.codec)
    except UnicodeDecodeError:
        if encoding.codec != "utf-8":
            raise ToolFailed(
                f"{file} begins as {encoding.name} but is no valid text in it; use bash to look at its bytes."
            ) from None
        encoding = Encoding("ascii", encoding.mark, "not UTF-8")
        text = data[len(encoding.mark) :].decode("ascii", "surrogateescape")
    if "\0" in text:
        raise ToolFailed(_BINARY.format(file, len(data)))
    if encoding.encode(text) != data:
        raise ToolFailed(f"{file} would not keep its bytes if it were written as {encoding.name}; edit it with bash.")
    return text, encoding


def refuse_binary(head: bytes, file: str, size: int) -> None:
    """Refuse bytes that are not text.

    Raises:
        ToolFailed: they hold a NUL.
    """
    if b"\0" in head:
        raise ToolFailed(_BINARY.format(file, size))
