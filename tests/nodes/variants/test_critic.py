from __future__ import annotations

from typing import Any

import pytest
from turngraph.flows.flow import STANDARD
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.flows.store import Store
from turngraph.nodes.deps import Limits
from turngraph.nodes.events import Notice
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.variants.critic import Critic

from ..acting import Actor, call, reading

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> int:
    return n


async def play(*replies: Any, **rest: Any) -> tuple[TurnResult, Actor, list[str]]:
    sink, model = MemorySink(), Actor(*replies)
    flow = STANDARD.swap(Critic)
    result = await run_turn("x", model=model, flow=flow, sink=sink, toolsets=[reading(look)], **rest)
    return result, model, [event.text for event in sink.events if isinstance(event, Notice)]


async def test_a_good_answer_stands() -> None:
    result, model, notes = await play(["Fine."], ["OK."])
    assert (result.answer, result.iterations, result.usage.requests, notes) == ("Fine.", 1, 2, [])
    assert "Fine." in str(model.requests[1])


async def test_a_weak_answer_goes_back_once_and_leaves_no_trace_in_the_history() -> None:
    with Store.in_memory() as store:
        session = store.create_session("here")
        replies = [["Weak."], ["Name the file."], [call("look", n=1)], ["Better."], ["never asked"]]
        result, model, notes = await play(*replies, store=store, session=session)
        history = str(store.load_messages(session).messages)
    assert (result.outcome, result.answer, result.iterations) == (Outcome.COMPLETED, "Better.", 3)
    assert notes == ["the critic sent the answer back: Name the file."]
    assert len(model.requests) == 4
    assert "Weak." in str(model.requests[2])
    assert "Name the file." in str(model.requests[2])
    assert "Weak." not in history
    assert "Better." in history


async def test_no_answer_is_lost_to_a_spent_budget_or_a_critic_that_fails() -> None:
    result, model, _ = await play(["Weak."], ["Bad."], limits=Limits(max_iterations=1))
    assert (result.outcome, result.answer, len(model.requests)) == (Outcome.COMPLETED, "Weak.", 1)
    result, _, notes = await play(["Weak."], [ValueError("odd")])
    assert (result.outcome, result.answer) == (Outcome.COMPLETED, "Weak.")
    assert notes[0].startswith("the answer was not judged: ")
