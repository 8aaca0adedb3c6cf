"""What a rule makes of a request: the arguments of one call, and how its result is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

LARGEST_LISTING = 5_000
"""Lines that any tool shows of what it found; more are only counted."""


def as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True)
class Plan:
    """`tell` turns the text of a successful result into the answer; it may reword and leave out what it counts."""

    arguments: dict[str, Any]
    tell: Callable[[str], str] = field(default=as_it_is, compare=False)


@dataclass(frozen=True)
class Listing:
    """A result of glob or grep in its pieces: how many it found, of how many files, what it shows, what it adds."""

    number: int
    files: int
    fitting: int
    shown: list[str]
    notes: list[str]

    @property
    def lasting_notes(self) -> list[str]:
        """The notes that stay true when the lines are told otherwise than the tool showed them."""
        return [note for note in self.notes if not note.startswith("[not shown: ")]

    @classmethod
    def read(cls, text: str, limit: int = LARGEST_LISTING) -> Listing | None:
        """The pieces of a result that shows at most `limit` lines, or `None` if it is no such text."""
        head, *rest = text.split("\n")
        found = re.match(r"\[([\d,]+) (?:files? found for |matching lines?(?: in ([\d,]+) of ([\d,]+) files?)?)", head)
        if found is None:
            return None
        number, files, fitting = (int(one.replace(",", "")) if one else 0 for one in found.groups())
        # A file's name may begin with a bracket, as the tool's own notes do: they are told apart by counting.
        ordered = sum(1 for line in rest if line.startswith("[not ordered: "))
        length = min(number, limit)
        while ordered and length and rest[length - 1 : length] and rest[length - 1].startswith("["):
            length -= 1
        return cls(number, files, fitting, rest[:length], rest[length:])
