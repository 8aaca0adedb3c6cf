"""A turn walked node by node, with a look at the state between any two."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_graph import End

from ...graphs.declared import END
from ...nodes.errors import TurngraphError
from ...nodes.node import Ctx, TurnNode, class_name
from ...nodes.outcome import TurnResult
from ...nodes.state import TurnState
from ..flow import Flow
from .stage import Stage

STATE = TypeAdapter(TurnState)
_GENERATED = re.compile(r"pyd_ai_[0-9a-f]+")
_VOLATILE = {"timestamp", "duration_ms", "started_ms"}


@dataclass(frozen=True)
class Boundary:
    """Between two nodes: who ran, where it goes, and the top fields of the state, in JSON, before and after, and
    the tools of the calls that have no result yet.

    What a session holds appears under its own names, such as `session.messages`.
    """

    role: str
    to: str
    before: dict[str, str]
    after: dict[str, str]
    open_calls: tuple[str, ...]

    @property
    def written(self) -> frozenset[str]:
        """The fields that the node changed."""
        return frozenset(name for name, value in self.after.items() if self.before[name] != value)


async def walk(
    flow: Flow, stage: Stage, *, reload: bool = False, look: Callable[[Boundary], None] = lambda boundary: None
) -> TurnResult | str:
    """Play a turn's nodes until its end; its result, or what a node raised, in words.

    With `reload`, each node gets a state that was written to JSON and read again. `look` sees every boundary.

    Raises:
        AssertionError: a node took a step that it does not declare, or keeps in the state what JSON does not hold.
    """
    state, node = stage.state, flow.lineup[flow.start]()
    while True:
        if reload:
            reload_state(state, node)
        state.agent_state = str(node.state)
        before = fields_of(state)
        try:
            successor: Any = await node.run(Ctx(state=state, deps=stage.deps))
        except TurngraphError as error:
            return f"{type(error).__name__}: {error}"
        to = END if isinstance(successor, End) else str(getattr(successor, "role", type(successor).__name__))
        declared = {way.to for way in flow.edges[node.role]}
        if to not in declared:
            raise AssertionError(
                f"{class_name(flow.lineup[node.role])} went on to {to}, which it does not declare; add it to the "
                f"return annotation of its run, which has {', '.join(sorted(declared))}"
            )
        open_calls = tuple(slot.call.tool_name for slot in state.session.tool_registry.open)
        look(Boundary(node.role, to, before, fields_of(state), open_calls))
        if isinstance(successor, End):
            return cast(End[TurnResult], successor).data
        node = cast(TurnNode, successor)


def reload_state(state: TurnState, node: TurnNode) -> None:
    """Put into the state what comes back of it from JSON.

    Raises:
        AssertionError: the state holds more than its fields, or a field holds what is no plain data.
    """
    if extra := set(vars(state)) - {field.name for field in fields(state)}:
        raise AssertionError(f"before {node.role} the state has {', '.join(sorted(extra))}, which it has no fields for")
    try:
        text = STATE.dump_json(state, warnings="error")
    except ValueError as error:
        raise AssertionError(f"before {node.role} the state cannot be written as JSON: {error}") from error
    loaded = STATE.validate_json(text)
    vars(state.usage).update(vars(loaded.usage))  # the manager of the tools counts in the usage it was given
    for field in fields(state):
        if field.name != "usage":
            setattr(state, field.name, getattr(loaded, field.name))


def fields_of(state: TurnState) -> dict[str, str]:
    """Each field of the state as text to compare, without what differs from run to run."""
    dumped: dict[str, Any] = STATE.dump_python(state, mode="json", warnings=False, fallback=repr)
    session = {f"session.{name}": value for name, value in dumped.pop("session").items()}
    return {
        name: _GENERATED.sub("generated", repr(_steady(value)))
        for name, value in (dumped | session).items()
        if name not in _VOLATILE
    }


def _steady(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast(dict[str, Any], value).items()
        return {key: _steady(item) for key, item in items if key not in _VOLATILE}
    return [_steady(item) for item in cast(list[Any], value)] if isinstance(value, list) else value


def written_by(boundaries: list[Boundary], role: str) -> frozenset[str]:
    """The fields that a role was seen to change."""
    return frozenset[str]().union(*(one.written for one in boundaries if one.role == role))
