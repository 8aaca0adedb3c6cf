"""A fork goes on from exactly the state that a turn had at a boundary; nothing before it runs again or is changed."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, UserPromptPart
from turngraph.flows.flow import STANDARD, Flow
from turngraph.flows.fork import fork_turn
from turngraph.flows.journal.standing import is_boundary
from turngraph.flows.replay import replay_turn
from turngraph.flows.resume import resume_turn
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.flows.store import MessageBody, Record, Store, VisitBody
from turngraph.flows.testing.model import ScriptedModel
from turngraph.nodes.errors import UsageError
from turngraph.nodes.events import NodeEntered, Notice, TurnStarted
from turngraph.nodes.history.stamp import unstamp
from turngraph.nodes.node import class_name
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.variants.best_of import best_of
from turngraph.nodes.variants.critic import Critic
from turngraph.nodes.variants.serial import SerialExecute

from .settled import assert_whole
from .test_resume import REPLIES, Cut, World, power_cut
from .test_resume import said as said_in

pytestmark = pytest.mark.anyio

FLOWS: dict[str, Flow] = {
    "standard": STANDARD,
    "best of two": STANDARD.swap(best_of(2)),
    "critic": STANDARD.swap(Critic),
}


async def begun(store: Store, flow: Flow = STANDARD, world: World | None = None) -> TurnResult:
    """A turn with every kind of call in it, in a session that has a history."""
    world = world or World()
    session = store.create_session("")
    await run_turn("before", model=ScriptedModel("Hello."), store=store, session=session)
    return await run_turn("work", model=world.model, toolsets=[world.tools()], flow=flow, store=store, session=session)


def boundaries(store: Store, turn: str) -> dict[int, Record]:
    found: dict[int, Record] = {}
    for record in store.journal(turn):
        if is_boundary(record) and isinstance(record.body, VisitBody):
            found[record.body.visit.number] = record
    return found


def received(store: Store, turn: str, until: int) -> int:
    """How many replies of the model the turn had by a row."""
    bodies = [record.body for record in store.journal(turn) if record.id <= until]
    return sum(isinstance(body, MessageBody) and body.replaces is None and _is_reply(body) for body in bodies)


def _is_reply(body: MessageBody) -> bool:
    return body.message.kind == "response"


def prompts(messages: list[Any]) -> list[str]:
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return [unstamp(str(part.content)) for part in parts if isinstance(part, UserPromptPart)]


@pytest.mark.parametrize("name", FLOWS)
async def test_from_every_boundary_it_ends_as_the_turn_did_and_does_nothing_twice(name: str) -> None:
    flow = FLOWS[name]
    with Store.in_memory() as store:
        world = World()
        source = await begun(store, flow, world)
        history, journal = said_in(store, source.session_id), store.journal(source.turn_id)
        points = {0: 0} | {at: record.id for at, record in boundaries(store, source.turn_id).items()}
        assert len(points) > 12
        for at, row in points.items():
            known = received(store, source.turn_id, row)
            again, sink = World(), MemorySink()
            model = ScriptedModel(*world.model._replies[known:])  # pyright: ignore[reportPrivateUsage]
            fork = await fork_turn(
                source.turn_id, at, store=store, model=model, toolsets=[again.tools()], flow=flow, sink=sink
            )
            assert (fork.outcome, fork.answer, fork.iterations) == (source.outcome, source.answer, source.iterations)
            assert (fork.usage.requests, fork.edited_files) == (source.usage.requests, source.edited_files), at
            assert known + len(model.requests) == len(world.model.requests), at
            assert not again.done - world.done, at
            assert said_in(store, fork.session_id) == history, at
            entered = [event.visit for event in sink.events if isinstance(event, NodeEntered)]
            assert entered[0] == at + 1
            replayed = await replay_turn(store, fork.turn_id, flow=flow)
            assert (replayed.departure, replayed.visits) == (None, replayed.recorded), at
        assert store.journal(source.turn_id) == journal
        assert said_in(store, source.session_id) == history


async def test_what_it_shares_is_not_copied(store: Store) -> None:
    source = await begun(store)
    last = max(boundaries(store, source.turn_id))
    fork = await fork_turn(source.turn_id, last, store=store, model=ScriptedModel())
    kinds = [record.kind for record in store.journal(fork.turn_id)]
    assert kinds == ["turn", "seal", "visit", "end"]


@pytest.mark.parametrize("at", [0, 1])
async def test_the_prompt_can_be_another_while_nothing_was_answered(store: Store, at: int) -> None:
    source = await begun(store)
    model, sink = ScriptedModel("Played."), MemorySink()
    fork = await fork_turn(source.turn_id, at, store=store, model=model, prompt="play", sink=sink)
    assert (fork.outcome, fork.answer) == (Outcome.COMPLETED, "Played.")
    assert prompts(model.requests[0]) == ["before", "play"]
    assert prompts(store.load_messages(fork.session_id).messages) == ["before", "play"]
    assert prompts(store.load_messages(source.session_id).messages)[:2] == ["before", "work"]
    assert [event.prompt for event in sink.events if isinstance(event, TurnStarted)] == ["play"]
    assert store.turn_body(fork.turn_id).said == "play"
    assert (await replay_turn(store, fork.turn_id)).departure is None


async def test_an_answered_prompt_is_not_edited(store: Store) -> None:
    source = await begun(store)
    turns = len(store.sessions())
    with pytest.raises(UsageError, match="had been answered by visit 2; to edit it, fork the turn --at 0"):
        await fork_turn(source.turn_id, 2, store=store, model=ScriptedModel(), prompt="play")
    assert len(store.sessions()) == turns


async def test_a_boundary_that_is_not_there_is_said_with_those_that_are(store: Store) -> None:
    source = await begun(store)
    last = max(boundaries(store, source.turn_id))
    for at in (-1, last + 1):
        with pytest.raises(UsageError, match=rf"has no boundary {at}: choose one from 0 to {last}"):
            await fork_turn(source.turn_id, at, store=store, model=ScriptedModel())
    with pytest.raises(UsageError, match="there is no turn"):
        await fork_turn("f" * 32, 0, store=store, model=ScriptedModel())


@pytest.mark.parametrize("first", [0, 1, 4, 9])
async def test_a_fork_is_forked(store: Store, first: int) -> None:
    world = World()
    source = await begun(store, world=world)
    history = said_in(store, source.session_id)
    row = boundaries(store, source.turn_id)[first].id if first else 0
    known = received(store, source.turn_id, row)
    again = World()
    fork = await fork_turn(
        source.turn_id, first, store=store, model=ScriptedModel(*REPLIES[known:]), toolsets=[again.tools()]
    )
    for at, record in boundaries(store, fork.turn_id).items():
        had = known + received(store, fork.turn_id, record.id)
        second = await fork_turn(
            fork.turn_id, at, store=store, model=ScriptedModel(*REPLIES[had:]), toolsets=[World().tools()]
        )
        assert (second.outcome, second.answer) == (source.outcome, source.answer)
        assert said_in(store, second.session_id) == history, at
        assert (await replay_turn(store, second.turn_id)).departure is None, at
    before = await fork_turn(
        fork.turn_id, first, store=store, model=ScriptedModel(*REPLIES[known:]), toolsets=[World().tools()]
    )
    assert said_in(store, before.session_id) == history


@pytest.mark.parametrize("at", [0, 1, 2, 4, 6])
async def test_a_fork_that_was_cut_off_goes_on(at: int) -> None:
    number = 0
    while True:
        number += 1
        with Store.in_memory() as store:
            source = await begun(store)
            history = said_in(store, source.session_id)
            row = boundaries(store, source.turn_id)[at].id if at else 0
            known = received(store, source.turn_id, row)
            forked, before = World(), set(_sessions(store))
            try:
                with power_cut(number, before=number % 2 == 0):
                    model = ScriptedModel(*REPLIES[known:])
                    await fork_turn(source.turn_id, at, store=store, model=model, toolsets=[forked.tools()])
                break
            except (Cut, BaseExceptionGroup):
                (session,) = set(_sessions(store)) - before
            if store.unfinished_turn(session) is None:
                break
            (turn,) = store.turns(session)
            had = known + received(store, turn, 2**62)
            result = await resume_turn(
                turn, store=store, model=ScriptedModel(*REPLIES[had:]), toolsets=[forked.tools()]
            )
            assert (result.outcome, result.answer) == (source.outcome, source.answer)
            assert all(count == 1 for (tool, _), count in forked.done.items() if tool == "change")
            now = said_in(store, session)
            differing = [(one, other) for one, other in zip(history, now, strict=True) if one != other]
            assert all(one[1] == "change" and "outcome is unknown" in other[2] for one, other in differing)
            assert len(differing) <= 1
            replayed = await replay_turn(store, turn)
            assert (replayed.departure, replayed.visits) == (None, replayed.recorded), number
    assert number > 8


def _sessions(store: Store) -> list[str]:
    return [session.id for session in store.sessions()]


async def test_a_turn_that_was_cut_off_is_forked_where_it_stood(store: Store) -> None:
    world, session = World(), store.create_session("")
    with power_cut(6, before=False), pytest.raises(BaseException):  # noqa: B017, PT011
        await run_turn("work", model=world.model, toolsets=[world.tools()], store=store, session=session)
    (turn,) = store.turns(session)
    at = max(boundaries(store, turn))
    known = received(store, turn, boundaries(store, turn)[at].id)
    fork = await fork_turn(turn, at, store=store, model=ScriptedModel(*REPLIES[known:]), toolsets=[World().tools()])
    assert fork.outcome is Outcome.COMPLETED
    assert store.unfinished_turn(session) == turn


async def test_the_sessions_go_apart(store: Store) -> None:
    source = await begun(store)
    fork = await fork_turn(
        source.turn_id, 4, store=store, model=ScriptedModel("Another way."), toolsets=[World().tools()]
    )
    model = ScriptedModel("Yes.")
    await run_turn("again", model=model, store=store, session=fork.session_id)
    assert_whole(model.requests[0])
    assert prompts(model.requests[0]) == ["before", "work", "again"]
    assert "again" not in prompts(store.load_messages(source.session_id).messages)
    other = ScriptedModel("No.")
    await run_turn("elsewhere", model=other, store=store, session=source.session_id)
    assert "Another way." not in repr(other.requests)
    assert "elsewhere" not in prompts(store.load_messages(fork.session_id).messages)


async def test_another_class_plays_a_role_from_there_on(store: Store) -> None:
    source = await begun(store)
    sink = MemorySink()
    flow = STANDARD.swap(SerialExecute)
    fork = await fork_turn(
        source.turn_id, 4, store=store, model=ScriptedModel("Done."), toolsets=[World().tools()], flow=flow, sink=sink
    )
    visits = [record.body.visit for record in store.journal(fork.turn_id) if isinstance(record.body, VisitBody)]
    assert (visits[0].number, visits[0].cls) == (5, class_name(SerialExecute))
    (told,) = [event.text for event in sink.events if isinstance(event, Notice) and "forked" in event.text]
    assert told == f"forked from turn {source.turn_id[:8]} after 4 visits of nodes, at execute"
