"""The journal: what a boundary costs, and how soon a turn that was killed in a long session stands again."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from turngraph import Store
from turngraph.flows.journal.changes import Changes
from turngraph.flows.journal.standing import standing
from turngraph.nodes.said import prompt_message
from turngraph.nodes.state import RequestContext, SessionState, TurnState

from .filling import NOON, filled, head, visit
from .table import Row

FLAT = 1.5
READING = 1.5
_BOUNDARIES = 400
_MESSAGES = 10_000
_BYTES = 20_000_000


def rows(rounds: int, directory: Path) -> Iterator[Row]:
    """CPU time; the turn that stands again was killed after its first visit."""
    with Store.open(directory / "short.db") as short, Store.open(directory / "long.db") as long:
        few, many = filled(short, 10, 20_000), filled(long, _MESSAGES, _BYTES)
        messages = long.load_messages(many).messages
        assert len(messages) == _MESSAGES
        dumped = ModelMessagesTypeAdapter.dump_json(messages)
        both = [(_boundaries(long, many), _boundaries(short, few)) for _ in range(rounds + 1)][1:]
        what = f"a boundary on {_MESSAGES:,} messages"
        yield Row(what, [ours for ours, _ in both], "on 10", [peer for _, peer in both], FLAT)
        turn = _killed(long, many)
        del messages
        both = [(_standing(long, turn), _reading(dumped)) for _ in range(rounds + 1)][1:]
    what = f"a killed turn on {_MESSAGES:,} messages ({len(dumped) / 1e6:.0f} MB) stands again"
    yield Row(what, [ours for ours, _ in both], "pydantic-ai validates them", [peer for _, peer in both], READING)


def _boundaries(store: Store, session: str) -> float:
    """What the runner does after a node that counted an iteration, with the reply's row that it is committed with."""
    messages = store.load_messages(session).messages
    with store.begin_turn(head(session), prompt_message("go on", NOON)) as log:
        state = _state(session, messages)
        changes = Changes(state)
        reply = messages[1]
        began = time.process_time()
        for number in range(_BOUNDARIES):
            state.iteration += 1
            state.reply_row = log.message(reply)
            log.visit(visit(number + 1, "stream", state.iteration, "process_node"), changes.since(state))
        taken = time.process_time() - began
    return taken * 1000 / _BOUNDARIES


def _killed(store: Store, session: str) -> str:
    begun = head(session)
    state = _state(session, store.load_messages(session).messages)
    with store.begin_turn(begun, prompt_message("go on", NOON)) as log:
        changes = Changes(state)
        state.session.messages = [*state.session.messages, prompt_message("go on", NOON)]
        state.unsealed = [log.prompt_row]
        log.visit(visit(1, "prepare_history", 0, "stream"), changes.since(state))
        log.repair("so that the visit is written")
    return begun.turn_id


def _state(session: str, messages: list[ModelMessage]) -> TurnState:
    return TurnState(
        turn_id="t",
        session_id=session,
        flow="standard",
        prompt="go on",
        started_at=NOON,
        request=RequestContext("r"),
        session=SessionState(messages=list(messages)),
    )


def _standing(store: Store, turn: str) -> float:
    gc.collect()
    began = time.process_time()
    found = standing(store, turn)
    taken = time.process_time() - began
    assert len(found.state.session.messages) > _MESSAGES
    return taken * 1000


def _reading(dumped: bytes) -> float:
    gc.collect()
    began = time.process_time()
    ModelMessagesTypeAdapter.validate_json(dumped)
    return (time.process_time() - began) * 1000
