"""Turns as an overlay draws them: which ones, and what their journals tell."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelResponse

from ..graphs.overlay import Run, Spend
from ..nodes.errors import UsageError
from ..nodes.stream import Stream
from ..nodes.usage import cost_of
from .store import MessageBody, Record, Store, TurnBody, VisitBody


def choose_turns(store: Store, turns: Sequence[str], session: str | None, last: int | None) -> list[str]:
    """The ids of the turns to draw: those named by the first digits of their ids, a session's, or the last ones.

    `last` keeps the newest of a session's turns, or of all.

    Raises:
        UsageError: an id fits no turn, or several; or there are no turns.
        UnknownSession: an id fits no session, or several.
    """
    if turns:
        return [store.find_turn(turn) for turn in dict.fromkeys(turns)]
    if session is not None:
        found = store.turns(store.find_session(session))
        chosen = found if last is None else found[-last:]
    else:
        chosen = store.latest_turns(last or 1)
    if not chosen:
        raise UsageError("there are no turns to draw yet; turngraph run begins one")
    return chosen


def named_turn(store: Store, prefix: str | None) -> str:
    """The one turn whose id begins with `prefix`; without one the newest, of any session.

    Raises:
        UsageError: no turn fits, or several do; or there are no turns.
    """
    if prefix is not None:
        return store.find_turn(prefix)
    newest = store.latest_turns(1)
    if not newest:
        raise UsageError("there are no turns yet; turngraph run begins one")
    return newest[0]


def read_runs(store: Store, turns: Sequence[str]) -> tuple[list[Run], list[str]]:
    """The runs of these turns, and in words what their journals hold that cannot be read."""
    runs: list[Run] = []
    notes: list[str] = []
    for turn in turns:
        records = store.journal(turn)
        runs.append(run_of(turn, records))
        if lost := sum(record.body is None for record in records):
            notes.append(f"{lost} of {len(records)} rows of turn {turn} cannot be read and are not drawn")
    return runs, notes


def run_of(turn: str, records: Sequence[Record]) -> Run:
    """What a journal tells. A reply counts once, however often it was rewritten, also where it was not used."""
    visits = tuple(record.body.visit for record in records if isinstance(record.body, VisitBody))
    roles = next((set(record.body.head.lineup) for record in records if isinstance(record.body, TurnBody)), set[str]())
    spends: list[Spend] = []
    for number, record in enumerate(records):
        body = record.body
        if isinstance(body, MessageBody) and body.replaces is None and isinstance(body.message, ModelResponse):
            usage = body.message.usage
            role = _asker(record.id, records[number:], roles)
            spends.append(Spend(role, usage.input_tokens, usage.output_tokens, cost_of(body.message)))
    return Run(turn, visits, tuple(spends))


def _asker(row: int, following: Sequence[Record], roles: set[str]) -> str:
    """The role that asked for the reply of a row: that of the visit that is told next.

    The role that asks for replies it is where that visit does not say, or made its own what it did not ask for.
    """
    told = next((record.body for record in following if isinstance(record.body, VisitBody)), None)
    unsaid = told is None or not told.changed or told.changed.get("reply_row") == row
    if unsaid and Stream.role in roles:
        return Stream.role
    return "" if told is None else told.visit.role
