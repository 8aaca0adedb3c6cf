"""Rows of text under heads, as wide as the terminal and no wider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.cells import cell_len, set_cell_size

from .terminal import encodable, width_of

_NARROWEST = 16


@dataclass(frozen=True)
class Column:
    """One column. Those that `may_go` are left out, the last first, where a terminal is too narrow for all of them;
    one that `may_shrink` is cut."""

    head: str
    cells: Sequence[str]
    may_go: bool = False
    may_shrink: bool = False

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.head, *self.cells)))


def print_columns(columns: Sequence[Column], stream: TextIO) -> None:
    """Write them; where there is no terminal nothing is cut or left out."""
    width = width_of(stream)
    shown = list(columns)
    while width is not None and _least(shown) > width and any(one.may_go for one in shown):
        shown.remove(next(one for one in reversed(shown) if one.may_go))
    widths = _widths(shown, width)
    ellipsis = "…" if encodable("…", stream) else "..."
    for row in zip(*([one.head, *one.cells] for one in shown), strict=True):
        cells = [_fitted(cell, size, ellipsis) for cell, size in zip(row, widths, strict=True)]
        stream.write("  ".join(cells).rstrip() + "\n")
    stream.flush()


def _least(columns: Sequence[Column]) -> int:
    return sum(min(one.width, _NARROWEST) if one.may_shrink else one.width for one in columns) + 2 * (len(columns) - 1)


def _widths(columns: Sequence[Column], width: int | None) -> list[int]:
    widths = [one.width for one in columns]
    over = 0 if width is None else sum(widths) + 2 * (len(widths) - 1) - width
    for number, one in enumerate(columns):
        if one.may_shrink and over > 0:
            given = min(over, max(widths[number] - cell_len(one.head), 0))
            widths[number] -= given
            over -= given
    return widths


def _fitted(text: str, width: int, ellipsis: str) -> str:
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, max(width - cell_len(ellipsis), 0)) + ellipsis
