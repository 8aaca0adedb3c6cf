"""The edges a node class declares: its `run`'s return annotation, read once, the only source there is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic_graph import Edge, End

from ..nodes.errors import UsageError
from ..nodes.node import TurnNode

END = "end"
"""The id of the end of a turn in every edge and export."""


@dataclass(frozen=True)
class DeclaredEdge:
    """One way out of a node: the role it leads to, or `END`, and the label it carries."""

    to: str
    label: str | None


@cache
def declared_edges(cls: type[TurnNode]) -> tuple[DeclaredEdge, ...]:
    """The edges of a node class, in the order they are written.

    Raises:
        UsageError: the annotation is missing, cannot be resolved, or names something that is no node.
    """
    name = f"{cls.__module__}.{cls.__qualname__}.run"
    try:
        hints = get_type_hints(cls.run, include_extras=True)
    except (NameError, AttributeError, TypeError) as error:
        raise UsageError(
            f"the return annotation of {name} cannot be resolved ({error}); name only what its module imports"
        ) from error
    if "return" not in hints:
        raise UsageError(f"{name} has no return annotation; annotate it with the nodes it may go on to")
    return tuple(_edge(name, hint) for hint in _alternatives(hints["return"]))


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _edge(name: str, hint: Any) -> DeclaredEdge:
    label: str | None = None
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        label = next((extra.label for extra in extras if isinstance(extra, Edge)), None)
    target: Any = get_origin(hint) or hint
    if target is End:
        return DeclaredEdge(END, label)
    if isinstance(target, type) and issubclass(target, TurnNode) and hasattr(target, "role"):
        return DeclaredEdge(target.role, label)
    raise UsageError(f"the return annotation of {name} names {hint!r}, which is neither a node with a role nor End")
