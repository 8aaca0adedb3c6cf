"""Sessions as a table that fits the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.cells import cell_len, set_cell_size

from ..store import SessionSummary
from .terminal import encodable, visible, width_of

_HEADS = ("SESSION", "LAST USED", "TURNS", "LAST", "FIRST PROMPT", "DIRECTORY")
_LONGEST_PROMPT = 40


def print_sessions(sessions: Sequence[SessionSummary], stream: TextIO) -> None:
    """Write the table; on a terminal a row is cut to its width, elsewhere nothing is cut.

    What a session is known by stands before where it was.
    """
    ellipsis = "…" if encodable("…", stream) else "..."
    width = width_of(stream)
    rows = [_HEADS, *(_row(summary) for summary in sessions)]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(_HEADS) - 1)]
    if width is not None:
        widths[4] = min(widths[4], _LONGEST_PROMPT)
    for row in rows:
        cells = [_fit(cell, size, ellipsis) for cell, size in zip(row, widths, strict=False)]
        line = "  ".join([*cells, row[-1]]).rstrip()
        if width is not None and cell_len(line) > width:
            line = _fit(line, width, ellipsis)
        stream.write(line + "\n")
    stream.flush()


def _row(summary: SessionSummary) -> tuple[str, ...]:
    return (
        summary.id,
        f"{summary.last_used_at.astimezone():%Y-%m-%d %H:%M}",
        str(summary.turns),
        "-" if summary.last_outcome is None else summary.last_outcome.value,
        visible(" ".join((summary.first_prompt or "-").split())),
        visible(summary.workdir),
    )


def _fit(text: str, width: int, ellipsis: str) -> str:
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, max(width - cell_len(ellipsis), 0)) + ellipsis
