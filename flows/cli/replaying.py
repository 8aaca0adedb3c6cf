"""A recorded turn run again offline, for `turngraph turn replay`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import anyio

from ...nodes.errors import UsageError
from ...tools.wording import count
from ..asked import Asked
from ..flow import Flow
from ..replay import Replayed, replay_turn
from ..runs import named_turn
from ..settings import Settings, load_settings
from ..store import Store, TurnHead
from ..swap import never_asked
from .beginning import asked_again
from .casting import flow_of
from .options import Chosen
from .terminal import visible


def replay_once(turn: str | None, chosen: Chosen, output: str) -> int:
    """Replay a turn, say what it came to, and return the exit code.

    Raises:
        TurngraphError: there is no such turn or flow, or the store cannot be read.
    """
    settings = load_settings()
    with Store.open(settings.store) as store:
        turn_id = named_turn(store, turn)
        flow = _flow(store.turn_body(turn_id).head, chosen, settings)
        replayed = anyio.run(lambda: replay_turn(store, turn_id, flow=flow))
    sys.stdout.write(_as_json(replayed) if output == "json" else _as_text(replayed))
    return 0 if replayed.departure is None else 1


def _flow(head: TurnHead, chosen: Chosen, settings: Settings) -> Flow:
    asked = asked_again(head, chosen, settings) if head.asked else _told(chosen, settings)
    if asked.agent is not None:
        raise UsageError(
            f"turn {head.turn_id} went through the agent {asked.agent}, which cannot be replayed without asking it"
        )
    return flow_of(asked, never_asked)


def _told(chosen: Chosen, settings: Settings) -> Asked:
    """The flow of a turn that a program of somebody's own began: the standard one, or what is said of it."""
    flows = {name: one.swap for name, one in settings.flows.items()}
    return Asked(model=None, flow=chosen.flow or Asked.flow, flows=flows, swaps=chosen.swap or ())


def _as_text(replayed: Replayed) -> str:
    departure = replayed.departure
    if departure is None:
        return f"{count(replayed.visits, 'visit')} replayed, all as recorded\n"
    lines = [
        f"{replayed.visits} of {count(replayed.recorded, 'visit')} replayed as recorded",
        f"visit {departure.visit} ({departure.role}) departs, in its {departure.what}:",
        f"  recorded  {visible(departure.recorded)}",
        f"  replayed  {visible(departure.replayed)}",
    ]
    return "\n".join(lines) + "\n"


def _as_json(replayed: Replayed) -> str:
    document = {
        "schema": "turngraph.replay/1",
        "turn_id": replayed.turn_id,
        "visits": replayed.visits,
        "recorded": replayed.recorded,
        "departure": None if replayed.departure is None else asdict(replayed.departure),
    }
    return json.dumps(document) + "\n"
