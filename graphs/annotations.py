"""Return annotations of nodes, resolved: what pydantic-graph reads, and the labels that it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic_graph import Edge
from typing_extensions import TypeAliasType

from ..nodes.errors import UsageError


@dataclass(frozen=True)
class Alternative:
    """One part of a return annotation: what it names, without parameters; its label; and what else was annotated."""

    target: Any
    label: str | None
    extras: tuple[Any, ...] = ()


def alternatives(
    function: Callable[..., Any], name: str, names: Mapping[str, Any] | None = None
) -> tuple[Alternative, ...]:
    """The alternatives of a function's return annotation, in the order they are written.

    `name` is what errors call the function; `names` is looked into before the function's own module.

    Raises:
        UsageError: there is no annotation, or it names what its module does not have at run time.
    """
    try:
        written: Any = getattr(function, "__annotations__", {})
        if "return" not in written:
            raise UsageError(f"{name} has no return annotation; annotate it with the nodes it may go on to")
        only_return: Any = SimpleNamespace(__annotations__={"return": written["return"]})
        module: dict[str, Any] = getattr(function, "__globals__", {})
        hint = get_type_hints(only_return, module, dict(names) if names else None, include_extras=True)["return"]
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        shown = function.__annotations__["return"] if isinstance(error, TypeError | SyntaxError) else error
        raise UsageError(
            f"the return annotation of {name} cannot be resolved ({shown}); name only what its module imports "
            "when it runs, not under TYPE_CHECKING or inside a function"
        ) from error
    return tuple(_flat(hint, None, ()))


def _flat(hint: Any, label: str | None, extras: tuple[Any, ...]) -> Iterator[Alternative]:
    origin = get_origin(hint)
    if isinstance(hint, TypeAliasType):
        yield from _flat(hint.__value__, label, extras)
    elif origin in (Union, UnionType):
        for one in get_args(hint):
            yield from _flat(one, label, extras)
    elif origin is Annotated:
        inner, *more = get_args(hint)
        said = next((extra.label for extra in more if isinstance(extra, Edge)), label)
        yield from _flat(inner, said, (*more, *extras))
    else:
        yield Alternative(origin or hint, label, extras)
