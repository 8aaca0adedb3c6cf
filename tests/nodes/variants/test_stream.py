"""The two that ask more than once."""

from __future__ import annotations

from typing import Any

import pytest
from turngraph.flows.flow import STANDARD, Flow
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.nodes.errors import ProviderError
from turngraph.nodes.events import Notice, TextDelta
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.variants.best_of import BestOf, best_of
from turngraph.nodes.variants.cascade import cascade

from ..acting import Actor, call, raw_call, reading

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> int:
    return n


async def play(flow: Flow, model: Actor) -> tuple[TurnResult, list[str], list[str]]:
    """The result, what was shown, and what was noted."""
    sink = MemorySink()
    result = await run_turn("x", model=model, flow=flow, sink=sink, toolsets=[reading(look)], instructions="be brief")
    shown = [event.text for event in sink.events if isinstance(event, TextDelta)]
    return result, shown, [event.text for event in sink.events if isinstance(event, Notice)]


async def test_the_best_of_three_is_what_most_say_and_all_are_paid_for() -> None:
    model = Actor(["One."], ["Two."], ["two. "])
    result, shown, notes = await play(STANDARD.swap(BestOf), model)
    assert (result.outcome, result.answer, shown) == (Outcome.COMPLETED, "Two.", ["Two."])
    assert (result.iterations, result.usage.requests, len(model.requests)) == (1, 3, 3)
    assert notes == ["1 of 3 replies is used; 0 of 3 requests failed"]


async def test_an_unusable_reply_is_never_the_best_where_another_is_not() -> None:
    model = Actor([""], [""], [call("look", n=1)], ["Done."], ["Done."], ["It broke off..."])
    result, shown, notes = await play(STANDARD.swap(BestOf), model)
    assert (result.answer, shown, result.iterations) == ("Done.", ["Done."], 2)
    assert not any("asking it again" in note for note in notes)


async def test_some_requests_may_fail_but_not_all() -> None:
    down = [ProviderError("down")]
    result, _, notes = await play(STANDARD.swap(best_of(2)), Actor(down, ["Fine."]))
    assert (result.answer, notes) == ("Fine.", ["1 of 1 replies is used; 1 of 2 requests failed"])
    result, _, _ = await play(STANDARD.swap(best_of(2)), Actor(down, down))
    assert (result.outcome, result.error) == (Outcome.PROVIDER_FAILURE, "down")
    with pytest.raises(ValueError, match="at least 2"):
        best_of(1)


async def test_a_cascade_leaves_the_strong_model_alone_while_the_cheap_one_can() -> None:
    strong, cheap = Actor(), Actor([call("look", n=1)], ["Cheap."])
    result, shown, notes = await play(STANDARD.swap(cascade(cheap)), strong)
    assert (result.answer, shown, notes) == ("Cheap.", ["Cheap."], [])
    assert (len(cheap.requests), len(strong.requests), result.usage.requests) == (2, 0, 2)
    assert cheap.infos[0].instructions == "be brief"
    assert cheap.prepared == 3  # each message once: the prompt, the call, its result


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ([""], "was empty"),
        (["It broke off..."], "was cut off"),
        ([call("nothing")], "called nothing, which is no tool"),
        ([raw_call("look", "{")], "called look with broken arguments"),
        ([ProviderError("down")], "down"),
        ([ValueError("odd")], "odd"),
    ],
)
async def test_a_cascade_goes_on_to_the_strong_model(reply: list[Any], why: str) -> None:
    strong, cheap = Actor(["Strong."]), Actor(reply)
    result, shown, notes = await play(STANDARD.swap(cascade(cheap)), strong)
    assert (result.answer, shown, result.iterations) == ("Strong.", ["Strong."], 1)
    assert len(notes) == 1
    assert why in notes[0]
    assert notes[0].endswith("; asking function:actor")
    assert result.usage.requests == (1 if isinstance(reply[0], Exception) else 2)
