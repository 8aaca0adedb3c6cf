"""The base of all nodes, and `go`, the only way from one to the next."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, ParamSpec, TypeVar, cast

from pydantic_graph import BaseNode, GraphRunContext

from .deps import TurnDeps
from .errors import UsageError
from .outcome import TurnResult
from .state import TurnState

Ctx = GraphRunContext[TurnState, TurnDeps]
P = ParamSpec("P")
N = TypeVar("N", bound="TurnNode")


class TurnNode(BaseNode[TurnState, TurnDeps, TurnResult], ABC):
    """One step of a turn.

    A subclass sets its `role` (the node's id in the graph, which a variant shares with what it replaces) and the
    `state` of the flow's state machine that it runs in; the return annotation of its `run` declares its edges.
    """

    role: ClassVar[str]
    state: ClassVar[str]

    @classmethod
    @cache
    def get_node_id(cls) -> str:
        return cls.role


def class_name(cls: type[TurnNode]) -> str:
    """A node class as the store and errors name it: `module:QualName`."""
    return f"{cls.__module__}:{cls.__qualname__}"


def go(ctx: Ctx, successor: Callable[P, N], *args: P.args, **kwargs: P.kwargs) -> N:
    """Move on to a role: `go(ctx, nodes.Persist)`. The flow's lineup supplies the class that plays it.

    Raises:
        UsageError: the flow has no such role.
    """
    role = cast(type[TurnNode], successor).role
    cls: Any = ctx.deps.lineup.get(role)
    if cls is None:
        raise UsageError(f"the flow has no role {role!r}; its roles are {', '.join(ctx.deps.lineup)}")
    return cast(N, cls(*args, **kwargs))
