"""The time a user's text was written, as its first line, so that a model can tell today from last week."""

from __future__ import annotations

import re
from datetime import datetime

_STAMP = re.compile(
    r"\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4}(?:[0-9]{2}(?:\.[0-9]{6})?)?\]\n"
)


def stamp(text: str, at: datetime) -> str:
    """Put a time in front of a text: `[2026-11-30 19:05:12 +0000]`, a new line, the text as it is.

    Raises:
        ValueError: `at` has no zone.
    """
    if at.utcoffset() is None:
        raise ValueError(f"a stamp needs a time with its zone, and {at.isoformat()} has none")
    return f"[{at.year:04}-{at:%m-%d %H:%M:%S %z}]\n{text}"


def unstamp(text: str) -> str:
    """The text without the one stamp at its start; a text that starts otherwise comes back as it is."""
    found = _STAMP.match(text)
    return text[found.end() :] if found else text
