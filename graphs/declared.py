"""The edges a node class declares: its `run`'s return annotation, read once, the only source there is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic_graph import End

from ..nodes.errors import UsageError
from ..nodes.node import TurnNode
from .annotations import Alternative, alternatives

START = "start"
"""The id of the beginning of a turn in every graph and export."""

END = "end"
"""The id of the end of a turn in every edge and export."""


@dataclass(frozen=True)
class DeclaredEdge:
    """One way out of a node: the role it leads to, or `END`, and the label it carries."""

    to: str
    label: str | None


def declared_edges(cls: type[TurnNode]) -> tuple[DeclaredEdge, ...]:
    """The edges of a node class, in the order they are written.

    Raises:
        UsageError: the annotation is missing, cannot be resolved, or names something that is no node; or this is no
            class of a node with a role.
    """
    given: Any = cls
    if not isinstance(given, type):
        kind = type(given).__name__
        raise UsageError(f"an instance of {kind} was given where a class is meant; write {kind}, without brackets")
    if not (issubclass(given, TurnNode) and hasattr(given, "role")):
        raise UsageError(f"{given.__qualname__} is no node with a role; subclass TurnNode, and set role and state")
    return _declared(given)


@cache
def _declared(cls: type[TurnNode]) -> tuple[DeclaredEdge, ...]:
    name = f"{cls.__module__}.{cls.__qualname__}.run"
    if cls.role in (START, END):
        raise UsageError(f"{name[:-4]} has the role {cls.role!r}, which every graph has already; give it another")
    return tuple(_edge(name, one) for one in alternatives(cls.run, name))


def _edge(name: str, way: Alternative) -> DeclaredEdge:
    target: Any = way.target
    if target is End:
        return DeclaredEdge(END, way.label)
    if isinstance(target, type) and issubclass(target, TurnNode) and hasattr(target, "role"):
        return DeclaredEdge(target.role, way.label)
    named = getattr(way.target, "__name__", way.target)
    raise UsageError(f"the return annotation of {name} names {named}, which is neither a node with a role nor End")
