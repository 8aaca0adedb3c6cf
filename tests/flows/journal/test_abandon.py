"""A turn that was cut off and is not resumed is closed by the next one, as an interrupt would have closed it."""

from __future__ import annotations

import pytest
from turngraph.flows.equipment import equipped
from turngraph.flows.flow import STANDARD
from turngraph.flows.journal.abandon import KILLED, abandon
from turngraph.flows.journal.past import known_calls
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.flows.store import EndBody, IntentBody, ResultBody, Store
from turngraph.flows.testing.model import ScriptedModel
from turngraph.nodes.deps import Limits
from turngraph.nodes.errors import SessionBusy
from turngraph.nodes.events import Notice
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.slots import CallStatus
from turngraph.tools.effects import Effect
from turngraph.tools.policy import Auto

from ..settled import assert_whole
from ..stored import head, said, whole_turn
from ..test_resume import WRITES, Cut, World, power_cut
from ..test_resume import said as said_in

pytestmark = pytest.mark.anyio

MARK = "[The request above was left without an answer: it was interrupted."


def end_of(store: Store, turn: str) -> TurnResult | None:
    ends = [record.body.result for record in store.journal(turn) if isinstance(record.body, EndBody)]
    assert len(ends) <= 1
    return ends[0] if ends else None


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, WRITES))
async def test_the_next_turn_knows_what_the_one_that_was_cut_off_did(number: int, before: bool) -> None:
    with Store.in_memory() as store:
        world, session = World(), store.create_session("")
        with power_cut(number, before=before), pytest.raises(BaseException) as caught:  # noqa: PT011
            await run_turn("work", model=world.model, toolsets=[world.tools()], store=store, session=session)
        assert isinstance(caught.value, Cut | BaseExceptionGroup)
        (turn,) = store.turns(session)
        done, calls = dict(world.done), known_calls(store.journal(turn))

        model, sink = ScriptedModel("Nothing more."), MemorySink()
        result = await run_turn(
            "and now?", model=model, toolsets=[world.tools()], store=store, session=session, sink=sink
        )
        assert (result.outcome, result.answer) == (Outcome.COMPLETED, "Nothing more.")
        assert dict(world.done) == done, "a call of the turn that was cut off ran"
        assert store.unfinished_turn(session) is None
        closed = end_of(store, turn)
        assert closed is not None
        answered = closed.outcome is Outcome.COMPLETED or "Done." in repr(model.requests[0])
        assert answered or (closed.outcome, closed.error) == (Outcome.INTERRUPTED, KILLED)
        assert closed.model == "function:scripted"

        assert_whole(model.requests[0])
        sent = repr(model.requests[0])
        assert sent.count(MARK) == (not answered)
        results = [record.body for record in store.journal(turn) if isinstance(record.body, ResultBody)]
        unknown = [body for body in results if body.status is CallStatus.UNKNOWN]
        assert len({(body.part.tool_call_id, body.part.tool_name) for body in results}) == len(results)
        assert len(unknown) == sum(known.part is None and _changes(store, turn, at) for at, known in calls.items())
        assert ("check before doing any of it again" in sent) == bool(unknown)
        notices = [event.text for event in sink.events if isinstance(event, Notice)]
        assert len([text for text in notices if f"turngraph turn show {turn[:8]}" in text]) == 1
        assert said_in(store, session)[-1][2] == "Nothing more."


def _changes(store: Store, turn: str, at: tuple[int, int]) -> bool:
    return any(
        (record.iteration, record.body.position) == at and record.body.effect is not Effect.READ_ONLY
        for record in store.journal(turn)
        if isinstance(record.body, IntentBody)
    )


async def test_a_turn_that_runs_is_left_alone(store: Store) -> None:
    session = store.create_session("")
    with store.begin_turn(head(session, "0" * 32), said("work")):
        async with equipped(ScriptedModel(), [], policy=Auto(), limits=Limits(), instructions="") as equipment:
            with pytest.raises(SessionBusy):
                await abandon(store, "0" * 32, STANDARD, equipment)
    assert end_of(store, "0" * 32) is None


async def test_the_end_names_the_model_that_the_turn_had(store: Store) -> None:
    session = store.create_session("")
    with store.begin_turn(head(session, "0" * 32, model="anthropic:opus"), said("work")):
        pass
    await run_turn("on", model=ScriptedModel(), store=store, session=session)
    closed = end_of(store, "0" * 32)
    assert closed is not None
    assert (closed.model, closed.outcome, closed.saved) == ("anthropic:opus", Outcome.INTERRUPTED, True)


async def test_a_turn_that_ended_is_not_touched(store: Store) -> None:
    session = store.create_session("")
    whole_turn(store, session, "0" * 32)
    rows = store.journal("0" * 32)
    await run_turn("on", model=ScriptedModel(), store=store, session=session)
    assert store.journal("0" * 32) == rows
