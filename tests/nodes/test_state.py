from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pydantic import TypeAdapter
from pydantic_ai.messages import BinaryContent
from turngraph.flows.runner import run_turn
from turngraph.nodes.events import Event, NodeEntered, NodeLeft, TurnEnded
from turngraph.nodes.outcome import Outcome
from turngraph.nodes.state import AGENT_STATE_MACHINE, AgentState, TurnState
from turngraph.tools.policy import ReadOnly

from .acting import Actor, call, raw_call, reading, thought, writing
from .staging import Window

STATE = TypeAdapter(TurnState)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("user_input", "assistant"),
        ("assistant", "tool_execution"),
        ("assistant", "response"),
        ("tool_execution", "response"),
        ("response", "assistant"),
    ],
)
def test_the_machine_has_the_transitions_of_the_specification(before: str, after: str) -> None:
    allowed = [(one, two) for one in AgentState for two in AgentState if AGENT_STATE_MACHINE.allows(one, two)]
    assert (before, after) in allowed
    assert len(allowed) == 5 + len(AgentState)


def test_an_unknown_state_allows_nothing_but_staying() -> None:
    assert not AGENT_STATE_MACHINE.allows("nowhere", "assistant")
    assert AGENT_STATE_MACHINE.allows("nowhere", "nowhere")


def picture() -> BinaryContent:
    return BinaryContent.narrow_type(BinaryContent(b"\x89PNG\xff", media_type="image/png"))


def look(n: int) -> dict[str, Any]:
    return {"n": n, "cost": Decimal("1.50"), "nan": float("nan"), "who": {1: (2, b"\xff")}}


def write(n: int) -> str:
    return "written"


class Snapshots:
    """Checks at each boundary of a node that the state comes back equal from JSON."""

    def __init__(self, window: Window) -> None:
        self.roles: list[str] = []
        self.ended: list[TurnEnded] = []
        self._window = window

    async def emit(self, event: Event) -> None:
        if isinstance(event, TurnEnded):
            self.ended.append(event)
        if isinstance(event, NodeEntered | NodeLeft):
            self.roles.append(event.role)
            state = self._window.state
            if state is not None:
                assert STATE.validate_json(STATE.dump_json(state)) == state
                assert all(type(value).__module__.split(".")[0] in PLAIN for value in inside(state))


PLAIN = {"builtins", "decimal", "datetime", "turngraph", "pydantic_ai"}
REFUSED = ("Task", "Lock", "Client", "Model", "Toolset", "Manager", "Event")


def inside(value: Any) -> Iterator[Any]:
    """A value and everything it holds."""
    yield value
    assert not inspect.isroutine(value)
    assert not inspect.isclass(value)
    assert not type(value).__name__.endswith(REFUSED)
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from inside(getattr(value, field.name))
    elif isinstance(value, dict):
        for pair in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from inside(list(pair))  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list | tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from inside(item)


@pytest.mark.anyio
async def test_the_state_serialises_whole_at_every_boundary_of_a_run() -> None:
    model = Actor(
        [thought("hm"), "Look: ", call("look", n=1), call("picture", 2), raw_call("look", '{"n"', 3), call("no", 4)],
        [""],
        ['<tool_call>{"name": "look", "arguments": {"n": 2}}</tool_call>'],
        [call("write", n=1)],
        ["Done."],
    )
    window = Window()
    sink = Snapshots(window)
    result = await run_turn(
        "go",
        model=model,
        toolsets=[reading(look, picture), writing(write)],
        flow=window.flow,
        sink=sink,
        policy=ReadOnly(),
    )
    assert (result.outcome, result.iterations) == (Outcome.REFUSED, 5), result.error
    assert len(sink.roles) == 2 * 21
    assert len(sink.ended) == 1
