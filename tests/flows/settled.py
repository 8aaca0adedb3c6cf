"""What holds of the events and the history of every turn, however it ends."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage
from turngraph.nodes.events import (
    Event,
    NodeEntered,
    NodeLeft,
    ToolCalled,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)

from ..nodes.test_any_script import wire
from ..scripted.rules import violation


def assert_whole(messages: Sequence[ModelMessage]) -> None:
    assert not messages or violation(wire(messages)) is None


def assert_settled(events: Sequence[Event]) -> None:
    """Begun and ended once; every visit left; every announced call finished once."""
    assert [type(event) for event in events if isinstance(event, TurnStarted | TurnEnded)] == [TurnStarted, TurnEnded]
    assert isinstance(events[0], TurnStarted)
    assert isinstance(events[-1], TurnEnded)
    entered = [(event.role, event.visit) for event in events if isinstance(event, NodeEntered)]
    assert [(event.role, event.visit) for event in events if isinstance(event, NodeLeft)] == entered
    assert [visit for _, visit in entered] == list(range(1, len(entered) + 1))
    called = [event.call_id for event in events if isinstance(event, ToolCalled)]
    assert sorted(event.call_id for event in events if isinstance(event, ToolFinished)) == sorted(called)
