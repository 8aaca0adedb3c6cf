"""The last lines of a terminal, redrawn in place; all above them is written once and stays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO

from rich.cells import cell_len

from .terminal import size_of

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
# A terminal that knows mode 2026 shows what stands between these two at once; another one ignores them.
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"


class Region:
    """Lines at the end of the screen that may still change. Nothing else may be written while any are drawn.

    They are drawn no higher than the screen, so that all of them can be reached again: of more lines the last
    ones are shown. Each update is one write of the lines from the first that changed.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn: list[str] = []

    @property
    def columns(self) -> int:
        return size_of(self._stream)[0]

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines in place of those that are drawn."""
        columns, rows = size_of(self._stream)
        self._replace(_last(lines, columns, rows - 2), columns)

    def clear(self) -> None:
        """Take the drawn lines away; the cursor stands where they began."""
        if self._drawn:
            self._replace([], size_of(self._stream)[0])

    def leave(self, lines: Sequence[str]) -> None:
        """Write these lines, however many, in place of those that are drawn; they stay."""
        self._replace(list(lines), size_of(self._stream)[0])
        self._drawn = []

    def _replace(self, lines: list[str], columns: int) -> None:
        same = 0
        while same < min(len(lines), len(self._drawn)) and lines[same] == self._drawn[same]:
            same += 1
        if same == len(lines) == len(self._drawn):
            return
        up = sum(_rows(line, columns) for line in self._drawn[same:])
        text = "".join(f"{line}\n" for line in lines[same:])
        self._stream.write(f"{_BEGIN}\x1b[{up}A\r\x1b[J{text}{_END}" if up else text)
        self._stream.flush()
        self._drawn = lines


def _rows(line: str, columns: int) -> int:
    return max(1, -(-cell_len(_STYLE.sub("", line)) // columns))


def _last(lines: Sequence[str], columns: int, rows: int) -> list[str]:
    room = max(rows, 1)
    for number, line in enumerate(reversed(lines)):
        room -= _rows(line, columns)
        if room < 0:
            return list(lines[len(lines) - number :])
    return list(lines)
