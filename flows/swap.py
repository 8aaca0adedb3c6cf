"""Swaps as a person types them: `ROLE=CLASS`, from a word to a flow that may run.

CLASS is the registered name of a variant, the name of an entry point of the group `turngraph.nodes`, `module:Class`,
or `path/to/file.py:Class`; the first that fits counts. Each may also lead to a function that makes the class; what it
takes follows after another colon: `stream=best-of:3`, `stream=cascade:openai:gpt-5-mini`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from ..nodes import variants
from ..nodes.errors import UsageError
from ..nodes.node import TurnNode
from ..nodes.variants import VARIANTS
from .fit import check_fit
from .flow import Flow
from .loading import is_place, load, split_place
from .models import create_model

if TYPE_CHECKING:
    from pydantic_ai.models import Model

GROUP = "turngraph.nodes"
Models = Callable[[str], "Model"]


def apply_swaps(flow: Flow, swaps: Sequence[str], *, models: Models = create_model) -> Flow:
    """The flow with each swap made; its rules are not checked yet.

    `models` makes the model that a variant asks for, from its specification; with `never_asked` the flow can be
    looked at and checked without a key, and not run.

    Raises:
        UsageError: as `resolve_swap`; or one role is swapped twice.
    """
    swapped: dict[str, str] = {}
    for text in swaps:
        variant = resolve_swap(text, flow, models=models)
        if variant.role in swapped:
            raise UsageError(f"{swapped[variant.role]} and {text} swap the same role; give one of them")
        swapped[variant.role] = text
        flow = flow.swap(variant)
    return flow


def resolve_swap(text: str, flow: Flow, *, models: Models = create_model) -> type[TurnNode]:
    """The class that `ROLE=CLASS` names, fit to play its role.

    Raises:
        UsageError: it is no swap, the flow has no such role, the class cannot be found, imported or made, or it
            cannot play the role.
    """
    role, equals, name = (part.strip() for part in text.partition("="))
    if not (role and equals and name):
        raise UsageError(f"{text!r} is no swap; write ROLE=CLASS, such as execute=serial")
    if role not in flow.lineup:
        raise UsageError(f"the flow {flow.name} has no role {role!r} to swap; its roles are {', '.join(flow.lineup)}")
    found, argument = _find(role, name)
    if inspect.isclass(found) and argument is not None:
        raise UsageError(f"{name} takes nothing after its name; leave ':{argument}' out")
    variant: Any = found if inspect.isclass(found) else _made(name, found, argument, models)
    other = getattr(variant, "role", role)
    if other in flow.lineup and other != role:
        raise UsageError(f"{name} plays the role {other!r}, not {role!r}; write {other}={name}")
    check_fit(variant, flow.lineup[role])
    return variant


def never_asked(spec: str) -> Model:
    """A model for flows that are looked at only: it needs no key, and raises when it is asked."""
    from pydantic_ai.models.function import FunctionModel

    def refuse(*_: object) -> Any:
        raise UsageError(f"the model {spec} was made to look at a flow, not to be asked")

    return FunctionModel(refuse, stream_function=refuse, model_name=spec)


def offered() -> tuple[EntryPoint, ...]:
    """The variants that installed packages offer; none is imported."""
    return tuple(entry_points(group=GROUP))


def _find(role: str, name: str) -> tuple[Any, str | None]:
    """What a name leads to, and what was typed after it."""
    head, colon, rest = name.partition(":")
    argument = rest if colon else None
    if head in VARIANTS:
        registered = VARIANTS[head]
        return load(f"{variants.__name__}.{registered.module}", registered.attribute), argument
    entries = {entry.value: entry for entry in offered() if entry.name == head}
    if len(entries) > 1:
        raise UsageError(f"several packages offer {head!r}; write one of {', '.join(sorted(entries))}")
    if entries:
        module, attribute, _ = split_place(next(iter(entries)))
        return load(module, attribute), argument
    if is_place(name):
        module, attribute, argument = split_place(name)
        return load(module, attribute), argument
    known = sorted({key for key, one in VARIANTS.items() if one.role == role} | {entry.name for entry in offered()})
    raise UsageError(
        f"there is no variant {name!r} for {role}; there are {', '.join(known) or 'none'}, or write module:Class "
        "or path/to/file.py:Class"
    )


def _made(name: str, factory: Any, argument: str | None, models: Models) -> Any:
    """The class that a function makes from what was typed."""
    if not callable(factory):
        raise UsageError(f"{name} is no class and no function that makes one")
    try:
        parameters = list(inspect.signature(factory).parameters.values())
        hints = get_type_hints(factory)
    except (TypeError, ValueError, NameError) as error:
        raise UsageError(f"{name} cannot be read as a function that makes a variant: {error}") from error
    if len(parameters) != 1:
        raise UsageError(f"{name} takes {len(parameters)} arguments; a function that makes a variant takes one")
    (parameter,) = parameters
    if argument is None and parameter.default is inspect.Parameter.empty:
        raise UsageError(f"{name} needs to know more after a colon; write {name}:{parameter.name.upper()}")
    given = [] if argument is None else [_converted(name, argument, hints.get(parameter.name), models)]
    try:
        return factory(*given)
    except ValueError as error:
        raise UsageError(f"{name} cannot be made: {error}") from error


def _converted(name: str, text: str, wanted: Any, models: Models) -> Any:
    from pydantic_ai.models import Model

    if wanted is int:
        if not text.isascii() or not text.isdigit():
            raise UsageError(f"{name} takes a whole number after the colon, not {text!r}")
        return int(text)
    if isinstance(wanted, type) and issubclass(wanted, Model):
        return models(text)
    if wanted is str:
        return text
    raise UsageError(f"{name} takes {cast(object, wanted)!r}, which cannot be typed; it can take int, str or Model")
