"""Whether a class can play a role: what can be told of it before a model is called."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from inspect import Parameter
from typing import Any, cast, get_args, get_origin, get_type_hints

from pydantic_graph import BaseNode, GraphRunContext

from ..graphs.declared import declared_edges
from ..nodes.deps import TurnDeps
from ..nodes.errors import UsageError
from ..nodes.node import TurnNode, class_name
from ..nodes.state import TurnState


def check_fit(variant: Any, part: type[TurnNode]) -> None:
    """Refuse what cannot play the role of `part`.

    Raises:
        UsageError: it is no node, its state, deps or constructor are others than the role's, it has no `state` or
            no `run`, or its `run` goes on to a role that its return annotation does not declare.
    """
    if not isinstance(variant, type) or not issubclass(variant, TurnNode):
        raise UsageError(f"{_not_a_node(variant)}; a variant of {part.role} is a subclass of TurnNode")
    name = class_name(variant)
    if missing := sorted(getattr(variant, "__abstractmethods__", ())):
        raise UsageError(f"{name} has no {' and no '.join(missing)}; write it as `async def {missing[0]}(self, ctx)`")
    if not isinstance(getattr(variant, "state", None), str):
        raise UsageError(f"{name} has no state; set it, such as `state = AgentState.{str(part.state).upper()}`")
    if not inspect.iscoroutinefunction(variant.run):
        raise UsageError(f"the run of {name} cannot be awaited; write it as `async def run(self, ctx)`")
    _check_context(variant, name)
    _check_constructor(variant, part, name)
    declared = {edge.to for edge in declared_edges(variant)}
    for role, line in _gone_on_to(variant):
        if role not in declared:
            raise UsageError(
                f"{name} goes on to {role} in line {line} of its file, which its return annotation does not declare; "
                f"add it to the annotation, which has {', '.join(sorted(declared))}"
            )


def _not_a_node(found: Any) -> str:
    if not isinstance(found, type):
        return f"{found!r} is no class"
    if not issubclass(found, BaseNode):
        return f"{found.__module__}:{found.__qualname__} is no node"
    generic: tuple[Any, ...] = getattr(cast(object, found), "__orig_bases__", ())
    bases = [base for base in generic if get_origin(base) is BaseNode]
    types = " and ".join(_named(one) for one in get_args(bases[0])[:2]) if bases else "no types"
    return f"{found.__module__}:{found.__qualname__} is a node of {types}, not of TurnState and TurnDeps"


def _named(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint)


def _check_context(variant: type[TurnNode], name: str) -> None:
    """The context that `run` asks for has the turn's state and deps."""
    try:
        hints = get_type_hints(variant.run)
    except (NameError, AttributeError, TypeError):
        return  # said better by what reads the return annotation
    parameters = list(inspect.signature(variant.run).parameters)
    context = hints.get(parameters[1]) if len(parameters) > 1 else None
    if get_origin(context) is not GraphRunContext:
        return
    for wanted, given in zip((TurnState, TurnDeps), get_args(context), strict=False):
        if given is not Any and not (isinstance(given, type) and issubclass(wanted, given)):
            raise UsageError(
                f"the run of {name} takes a context of {_named(given)} where a turn has {wanted.__name__}; "
                "annotate it as `ctx: Ctx`"
            )


def _check_constructor(variant: type[TurnNode], part: type[TurnNode], name: str) -> None:
    """What the other nodes pass to the role's own class can be passed to the variant, and nothing more is needed."""
    passed = inspect.signature(part).parameters
    taken = inspect.signature(variant).parameters
    open_ended = any(one.kind in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL) for one in taken.values())
    variadic = (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)
    needed = [one.name for one in taken.values() if one.default is Parameter.empty and one.kind not in variadic]
    if extra := [one for one in needed if one not in passed]:
        raise UsageError(
            f"{name} cannot be made: no other node passes {', '.join(extra)}; give it a default, or make the class "
            "by a function that takes it"
        )
    if not open_ended and (refused := [one for one in passed if one not in taken]):
        raise UsageError(f"{name} cannot be made: others pass {', '.join(refused)} to {part.role}; take it too")


def _gone_on_to(variant: type[TurnNode]) -> Iterator[tuple[str, int]]:
    """The role and the line of each `go(ctx, X)` in the class's own text, where X can be told without running it."""
    author = next(cls for cls in variant.__mro__ if "run" in vars(cls))
    try:
        lines, first = inspect.getsourcelines(author)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return
    names = {**getattr(inspect.getmodule(author), "__dict__", {}), **inspect.getclosurevars(variant.run).nonlocals}
    for call in ast.walk(tree):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "go"
            and len(call.args) > 1
        ):
            role = getattr(_value(call.args[1], names), "role", None)
            if isinstance(role, str):
                yield role, first + call.lineno - 1


def _value(expression: ast.expr, names: dict[str, Any]) -> Any:
    if isinstance(expression, ast.Name):
        return names.get(expression.id)
    if isinstance(expression, ast.Attribute):
        return getattr(_value(expression.value, names), expression.attr, None)
    return None
