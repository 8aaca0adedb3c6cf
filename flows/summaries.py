"""What one line of a list tells of a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from ..nodes.errors import StoreError
from ..nodes.outcome import Outcome
from .store import EndBody, Record, ReleaseBody, ResumeBody, Store, TurnBody, VisitBody
from .store.owner import Condition, Owner, condition_of

_TELLING = ("turn", "resume", "visit", "end", "release")
"""The kinds of rows that a summary is made of; what was said is not read for it."""

State = Literal["ended", "running", "stopped", "cut off", "elsewhere"]


@dataclass(frozen=True)
class TurnSummary:
    """A turn at a glance.

    `state` is `ended`, with its `outcome`; `running` or, halted by a signal, `stopped`, by the process `pid`;
    `elsewhere` where the process `pid` of another machine may run it; or `cut off`. `iterations` and `cost`, in US
    dollars, are known of an ended turn. `prompt` and `begun` are `None` where they cannot be read.
    """

    id: str
    session: str
    begun: datetime | None
    state: State
    outcome: Outcome | None
    pid: int | None
    visits: int
    iterations: int | None
    cost: Decimal | None
    model: str
    flow: str
    prompt: str | None
    forked_from: str | None


def summarise(store: Store, turn_id: str) -> TurnSummary:
    """What is known of a turn.

    Raises:
        StoreError: it is not in the store.
    """
    return summary_of(turn_id, store.journal(turn_id, _TELLING))


def summary_of(turn_id: str, journal: Sequence[Record]) -> TurnSummary:
    """What a turn's rows tell of it."""
    if not journal:
        raise StoreError(f"turn {turn_id} is not in the store any more; list them with `turngraph turn list`")
    bodies = [record.body for record in journal]
    turn = next((body for body in bodies if isinstance(body, TurnBody)), None)
    result = next((body.result for body in bodies if isinstance(body, EndBody)), None)
    owner = next((body.owner for body in reversed(bodies) if isinstance(body, ResumeBody | TurnBody)), None)
    state = "ended" if result else _state(bodies[-1], owner)
    return TurnSummary(
        id=turn_id,
        session=journal[0].session,
        begun=journal[0].at,
        state=state,
        outcome=result.outcome if result else None,
        pid=owner.pid if owner and state not in ("ended", "cut off") else None,
        visits=sum(isinstance(body, VisitBody) for body in bodies),
        iterations=result.iterations if result else None,
        cost=result.cost if result else None,
        model=(result.model if result else turn.head.model if turn else ""),
        flow=turn.head.flow if turn else "",
        prompt=turn.said if turn else None,
        forked_from=turn.origin.turn if turn and turn.origin else None,
    )


def _state(last: object, owner: Owner | None) -> State:
    if isinstance(last, ReleaseBody) or owner is None:
        return "cut off"
    conditions: dict[Condition, State] = {
        Condition.RUNNING: "running",
        Condition.STOPPED: "stopped",
        Condition.UNSEEN: "elsewhere",
        Condition.GONE: "cut off",
    }
    return conditions[condition_of(owner)]
