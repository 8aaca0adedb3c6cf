"""Text that arrives in crumbs and is shown in pieces."""

from __future__ import annotations

import time
from collections.abc import Callable

INTERVAL = 0.1


class Throttle:
    """Collects text and passes it to `write` at most once in `interval` seconds; `flush` passes on the rest."""

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        interval: float = INTERVAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._interval = interval
        self._clock = clock
        self._waiting: list[str] = []
        self._written_at = float("-inf")

    def add(self, text: str) -> None:
        self._waiting.append(text)
        self.flush_if_due()

    def flush_if_due(self) -> None:
        if self._clock() - self._written_at >= self._interval:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            text = "".join(self._waiting)
            self._waiting.clear()
            self._written_at = self._clock()
            self._write(text)
