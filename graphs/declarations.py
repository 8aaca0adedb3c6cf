"""What keeps a flow from having a graph at all: edges that cannot be read, and roles that are twice or nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..nodes.errors import UsageError
from .declared import END, declared_edges
from .extract import Drawable
from .violation import Violation

DECLARED: dict[str, tuple[str, str]] = {
    "duplicate_role": (
        "Every role has one part",
        "give one of them another role, or swap it in: flow.swap(Variant)",
    ),
    "unreadable_edges": (
        "The return annotation of every node's run can be read, and names nodes with roles and End",
        "annotate it with what run returns, such as nodes.Persist | End[TurnResult]",
    ),
    "unknown_role": (
        "Every role that is gone on to is in the flow",
        "add a part with that role, or go on to another",
    ),
}
"""The rules that are checked before there is a graph: what each says, and how to mend it."""


def misdeclared(flow: Drawable) -> list[Violation]:
    """All that keeps the flow's edges from being read, and nothing when they can."""
    return list(_found(flow))


def _found(flow: Drawable) -> Iterator[Violation]:
    counts = Counter(_role(part) for part in flow.parts)
    for role, count in counts.items():
        if count > 1:
            names = " and ".join(_name(part) for part in flow.parts if _role(part) == role)
            yield _violation("duplicate_role", f"the role {role} has {count} parts, {names}", role)
    known = ", ".join(flow.lineup)
    if flow.start not in flow.lineup:
        yield _violation("unknown_role", f"the flow starts with {flow.start}, which is none of its roles: {known}")
    for role, cls in flow.lineup.items():
        try:
            ways = declared_edges(cls)
        except UsageError as error:
            yield _violation("unreadable_edges", str(error), role)
            continue
        for way in ways:
            if way.to != END and way.to not in flow.lineup:
                said = f"{role} ({_name(cls)}) goes on to {way.to}, which is none of the flow's roles: {known}"
                yield _violation("unknown_role", said, role, way.to)


def _violation(rule: str, message: str, *nodes: str) -> Violation:
    return Violation(rule, message, DECLARED[rule][1], nodes)


def _role(part: Any) -> str:
    return str(getattr(part, "role", None))


def _name(part: Any) -> str:
    return str(getattr(part, "__qualname__", part))
