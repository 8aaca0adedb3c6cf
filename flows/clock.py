"""The clock of this machine."""

from __future__ import annotations

import time
from datetime import datetime


class SystemClock:
    """Local wall time with its zone, and a monotonic count of milliseconds."""

    def now(self) -> datetime:
        return datetime.now().astimezone()

    def ms(self) -> float:
        return time.monotonic_ns() / 1_000_000
