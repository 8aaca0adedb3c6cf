"""A variant with its settings in it: a class of its own, since the others make a node without arguments."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from ..node import TurnNode

N = TypeVar("N", bound=TurnNode)


def with_settings(base: type[N], name: object, **settings: Any) -> type[N]:
    """A subclass `BASE[NAME]` with class attributes set; journals and diagrams tell it from others by that name."""
    body = {**settings, "__module__": base.__module__, "__doc__": base.__doc__}
    return cast(type[N], type(f"{base.__qualname__}[{name}]", (base,), body))
