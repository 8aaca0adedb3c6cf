"""What goes on right now, on the last lines of a terminal: thinking, and each running call with its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from . import wording
from .region import Region

_SHOWN_AFTER = 0.3
_MOST = 8


@dataclass
class _Running:
    label: str
    since: float
    latest: str = ""


class Activity:
    """Things that run, by their key. They are drawn by `draw` only, and `hide` takes them off the screen.

    What ends within a third of a second is never drawn. `stream` is `None` where nothing can be redrawn.
    """

    def __init__(
        self,
        stream: TextIO | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._region = None if stream is None else Region(stream)
        self._clock = clock
        self._running: dict[str, _Running] = {}

    def begin(self, key: str, label: str) -> None:
        self._running.setdefault(key, _Running(label, self._clock()))

    def tell(self, key: str, latest: str) -> None:
        """Show the newest line of what runs."""
        if key in self._running:
            self._running[key].latest = latest

    def end(self, key: str) -> float | None:
        """Seconds that it ran; `None` if it never began."""
        ended = self._running.pop(key, None)
        return None if ended is None else self._clock() - ended.since

    def draw(self) -> None:
        if self._region is None:
            return
        now = self._clock()
        due = [one for one in self._running.values() if now - one.since >= _SHOWN_AFTER]
        columns = self._region.columns - 1
        lines = [_line(one, now, columns) for one in due[:_MOST]]
        if len(due) > _MOST:
            lines.append(f"\x1b[2m  and {len(due) - _MOST} more\x1b[0m")
        if lines:
            self._region.draw(lines)

    def hide(self) -> None:
        if self._region is not None:
            self._region.clear()


def _line(one: _Running, now: float, columns: int) -> str:
    spent = f"  {int(now - one.since)} s"
    text = wording.fit(f"  {one.label}", columns - len(spent)) + spent
    if one.latest:
        text = wording.fit(f"{text} | {one.latest}", columns)
    return f"\x1b[2m{text}\x1b[0m"
