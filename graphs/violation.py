"""A broken rule, as rules report it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """A broken rule: its name, what is wrong with which nodes, and how to mend it."""

    rule: str
    message: str
    hint: str
    nodes: tuple[str, ...] = ()
