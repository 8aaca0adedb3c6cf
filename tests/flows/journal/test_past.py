"""What a node that was cut off had come to is handed out again, in its order, and the state is brought behind it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from turngraph.flows.journal.past import CutOff
from turngraph.flows.journal.standing import standing
from turngraph.flows.resume import resume_turn
from turngraph.flows.runner import run_turn
from turngraph.flows.store import CompactBody, FailureBody, MessageBody, Record, Store, VisitBody
from turngraph.flows.testing.model import Reply, ScriptedModel
from turngraph.flows.testing.stage import NOON
from turngraph.nodes.deps import KnownCall, Limits
from turngraph.nodes.errors import ContextOverflow, ProviderError
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.slots import CallStatus, Slot
from turngraph.nodes.state import RequestContext, TurnState
from turngraph.tools.effects import Effect

from ..stored import answered, filled, head, outcome_of, said, seal_all
from ..test_resume import REPLIES, WRITES, Cut, World, power_cut, replies_in
from ..test_resume import said as said_in
from .test_standing import plain

pytestmark = pytest.mark.anyio

LOOK = ToolCallPart("look", {"n": 1}, "c1")
CHANGE = ToolCallPart("change", {"n": 2}, "c2")


def state_at(iteration: int) -> TurnState:
    return TurnState(
        turn_id="t",
        session_id="s",
        flow="standard",
        prompt="work",
        started_at=NOON,
        request=RequestContext("r"),
        iteration=iteration,
    )


class Written:
    """A turn whose log is being written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.log = store.begin_turn(head(store.create_session("")), said("go"))

    @property
    def past(self) -> CutOff:
        self.log.prune(0)  # what waits is written with a row that does not
        return CutOff(self._store.journal("turn-1"))


@pytest.fixture
def written(store: Store) -> Written:
    return Written(store)


def replies_of(past: CutOff) -> list[str]:
    received: list[str] = []
    while True:
        try:
            reply = past.reply(state_at(1))
        except ContextOverflow as overflow:
            received.append(f"overflow: {overflow}")
            continue
        if reply is None:
            return received
        received.append("".join(part.content for part in reply[0].parts if isinstance(part, TextPart)))


def test_replies_are_handed_out_as_they_were_received_once_each(written: Written) -> None:
    first = written.log.message(answered("raw"))
    written.log.message(said("a summary"))
    written.log.message(answered("tidy"), replaces=first)
    written.log.message(answered("second"))
    assert replies_of(written.past) == ["raw", "second"]


def test_a_request_that_was_too_large_is_refused_again_where_it_led_to_others(written: Written) -> None:
    written.log.failure(ContextOverflow("too large"))
    written.log.failure(ProviderError("busy"))
    written.log.message(answered("a summary"))
    written.log.message(answered("an answer"))
    written.log.failure(ContextOverflow("still too large"))
    assert replies_of(written.past) == ["overflow: too large", "a summary", "an answer"]


@pytest.mark.parametrize("error", [ContextOverflow("too large"), ProviderError("busy")])
def test_a_request_that_failed_at_last_is_made_again(written: Written, error: ProviderError) -> None:
    written.log.failure(error)
    assert replies_of(written.past) == []


def known(past: CutOff, iteration: int, position: int, call: ToolCallPart, effect: Effect) -> KnownCall | None:
    return past.call(state_at(iteration), Slot(position, call, effect))


def test_a_call_is_known_by_what_was_written_of_it(written: Written) -> None:
    refused = filled(0, CHANGE, "no", CallStatus.REFUSED)
    row = written.log.result(1, refused)
    written.log.intent(1, Slot(1, LOOK, Effect.READ_ONLY))
    written.log.intent(1, Slot(2, CHANGE, Effect.WRITE))
    written.log.intent(1, Slot(3, CHANGE, Effect.WRITE))
    done = filled(3, CHANGE, "done")
    done_row = written.log.result(1, done)
    past = written.past
    not_run = known(past, 1, 0, CHANGE, Effect.WRITE)
    assert not_run is not None
    assert (not_run.status, not_run.ran, not_run.row) == (CallStatus.REFUSED, False, row)
    assert known(past, 1, 1, LOOK, Effect.READ_ONLY) is None  # it only reads, and runs again
    assert known(past, 1, 2, CHANGE, Effect.WRITE) == KnownCall(CallStatus.UNKNOWN, ran=True, part=None, row=None)
    ended = known(past, 1, 3, CHANGE, Effect.WRITE)
    assert ended is not None
    assert (ended.status, ended.ran, ended.row, ended.duration_ms) == (CallStatus.OK, True, done_row, 7)
    assert (ended.edited, ended.part and ended.part.content) == (("a.txt",), "done")
    assert known(past, 1, 4, CHANGE, Effect.WRITE) is None
    assert known(past, 2, 3, CHANGE, Effect.WRITE) is None
    (warning,) = past.warnings
    assert warning.startswith("1 call(s) of change were under way: their effects may have happened")


def test_nothing_is_said_of_calls_that_only_read_or_came_to_their_end(written: Written) -> None:
    written.log.intent(1, Slot(0, LOOK, Effect.READ_ONLY))
    written.log.intent(1, Slot(1, CHANGE, Effect.WRITE))
    written.log.result(1, filled(1, CHANGE))
    assert written.past.warnings == []


LONG = "All of it. " * 2_000
TOO_LONG = ModelHTTPError(400, "scripted", {"message": "prompt is too long: 9 tokens > 8 maximum"})
SUMMARISED: dict[str, tuple[tuple[Reply, ...], Limits]] = {
    "before the request": (("first half", "both halves", LOOK, "Done."), Limits(context_window=6_000)),
    "after a refusal": ((TOO_LONG, "first half", "both halves", LOOK, "Done."), Limits()),
}


def long_session(store: Store) -> str:
    session = store.create_session("")
    for number, reply in enumerate((LONG, LONG, "Short.")):
        turn, prompt = head(session, f"turn-{number}"), said("say it")
        with store.begin_turn(turn, prompt) as log:
            seal_all(log, [prompt, answered(reply)])
            log.end(outcome_of(turn))
    return session


async def shortened(store: Store, session: str, model: ScriptedModel, limits: Limits) -> TurnResult:
    return await run_turn("work", model=model, toolsets=[World().tools()], store=store, session=session, limits=limits)


def consumed(journal: Sequence[Record]) -> int:
    """How many replies of the script need not be given again: all up to the last that was received."""
    asked = [
        isinstance(record.body, MessageBody)
        for record in journal
        if isinstance(record.body, FailureBody)
        or (
            isinstance(record.body, MessageBody)
            and isinstance(record.body.message, ModelResponse)
            and record.body.replaces is None
        )
    ]
    return max((number for number, received in enumerate(asked, 1) if received), default=0)


def timeless(said: Any) -> str:
    return re.sub(r"(?<=\[)20[^]]+(?=])|(?<='text-)[0-9a-f]{8}|(?<='call-)\d", "*", repr(said))


@pytest.mark.parametrize("script", SUMMARISED)
async def test_a_turn_that_shortens_its_history_is_cut_at_any_write_and_asks_nothing_twice(script: str) -> None:
    replies, limits = SUMMARISED[script]
    with Store.in_memory() as store:
        session = long_session(store)
        whole = ScriptedModel(*replies)
        straight = await shortened(store, session, whole, limits)
        history = timeless(said_in(store, session))
        bodies = [record.body for record in store.journal(straight.turn_id)]
    assert (straight.outcome, len(whole.requests)) == (Outcome.COMPLETED, len(replies))
    assert [body.kept for body in bodies if isinstance(body, CompactBody)] == [1]

    number = 0
    while True:
        number += 1
        with Store.in_memory() as store:
            session = long_session(store)
            try:
                with power_cut(number, before=number % 2 == 0):
                    await shortened(store, session, ScriptedModel(*replies), limits)
                break
            except (Cut, BaseExceptionGroup):
                turn = store.turns(session)[-1]
            if store.unfinished_turn(session) is None:
                break
            journal = store.journal(turn)
            model = ScriptedModel(*replies[consumed(journal) :])
            resumed = await resume_turn(turn, store=store, model=model, toolsets=[World().tools()])
            assert (resumed.outcome, resumed.answer, resumed.usage.requests) == (
                Outcome.COMPLETED,
                "Done.",
                straight.usage.requests,
            ), number
            assert len(model.requests) == len(replies) - consumed(journal), number
            assert timeless(said_in(store, session)) == history, number
    assert number > 8


OTHERS = ("reply_row", "history_row", "unsealed", "offered")


def without_rows(state: TurnState) -> dict[str, Any]:
    """The state as it counts: a turn that was cut off has other rows, and looks at its tools later."""
    found = plain(state)
    for slot in found["session"]["tool_registry"]["slots"]:
        slot.pop("row")
    return {name: value for name, value in found.items() if name not in OTHERS}


async def straight_states() -> tuple[list[Any], dict[int, dict[str, Any]]]:
    world = World()
    with Store.in_memory() as store:
        result = await run_turn("work", model=world.model, toolsets=[world.tools()], store=store)
        return said_in(store, result.session_id), states(store, result.turn_id)


def states(store: Store, turn: str) -> dict[int, dict[str, Any]]:
    """The state at each boundary, read back from the log."""
    visits = [record.body.visit for record in store.journal(turn) if isinstance(record.body, VisitBody)]
    found = {visit.number: standing(store, turn, visit.number) for visit in visits if visit.to not in (None, "end")}
    return {number: without_rows(one.state) | {"turn_id": "", "request": ""} for number, one in found.items()}


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_the_journal_of_a_turn_that_was_resumed_tells_its_states_as_if_it_had_not_been(before: bool) -> None:
    history, expected = await straight_states()
    compared = 0
    for number in range(1, WRITES):
        with Store.in_memory() as store:
            world = World()
            session = store.create_session("")
            with power_cut(number, before=before), pytest.raises(BaseException) as caught:  # noqa: PT011
                await run_turn("work", model=world.model, toolsets=[world.tools()], store=store, session=session)
            assert isinstance(caught.value, Cut | BaseExceptionGroup)
            (turn,) = store.turns(session)
            model = ScriptedModel(*REPLIES[replies_in(store, turn) :])
            await resume_turn(turn, store=store, model=model, toolsets=[world.tools()])
            if said_in(store, session) == history:  # else a call has an unknown outcome, which goes on in the state
                assert timeless(states(store, turn)) == timeless(expected), number
                compared += 1
    assert compared > WRITES // 2
