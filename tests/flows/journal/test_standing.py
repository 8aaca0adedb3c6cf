"""The state read back from the log at a boundary is the state that was there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest
from turngraph.flows.drive import drive
from turngraph.flows.flow import STANDARD, Flow
from turngraph.flows.interrupt import Interrupt
from turngraph.flows.journal.standing import standing
from turngraph.flows.named import choose_flow
from turngraph.flows.store import Store
from turngraph.flows.swap import never_asked
from turngraph.flows.testing.model import ScriptedModel
from turngraph.flows.testing.scripts import SCRIPTS, Script
from turngraph.flows.testing.stage import Stage, staged
from turngraph.flows.testing.walk import STATE
from turngraph.nodes.deps import TurnLog, Visit

pytestmark = pytest.mark.anyio

FLOWS = ["", "prepare_history=window:1", "stream=best-of:2", "execute=serial", "process_node=critic"]


class Watched:
    """A log that keeps the state of its turn at each boundary."""

    def __init__(self, stage: Stage) -> None:
        self._log: TurnLog = stage.deps.log
        self._state = stage.state
        self.states: list[tuple[int, str | None, dict[str, Any]]] = []

    def visit(self, visit: Visit, changed: Mapping[str, Any]) -> None:
        self._log.visit(visit, changed)
        self.states.append((visit.number, visit.to, plain(self._state)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def plain(state: Any) -> dict[str, Any]:
    """The state as it counts: what is said to the model in which order, and all fields, without clock times."""
    dumped: dict[str, Any] = STATE.dump_python(state, mode="json")
    messages = dumped["session"].pop("messages")
    parts = [timeless(part) for message in messages for part in message["parts"]]
    return {"parts": parts, **timeless(dumped)}


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast(dict[str, Any], value).items()
        return {name: timeless(item) for name, item in items if name not in VOLATILE}
    return [timeless(item) for item in cast(list[Any], value)] if isinstance(value, list) else value


VOLATILE = {"timestamp", "started_at", "started_ms", "session_id", "duration_ms"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
@pytest.mark.parametrize("swap", FLOWS)
async def test_it_is_the_state_that_was_there(swap: str, script: Script) -> None:
    flow = choose_flow(STANDARD.name, {}, [swap] if swap else [], models=never_asked)
    with Store.in_memory() as store:
        session = store.create_session("")
        for number in (1, 2, 3):
            turn = f"{number:032x}"
            for visit, role, state in await run(flow, script, store, session, turn):
                if role in (None, "end"):
                    continue
                found = standing(store, turn, visit)
                assert (found.role, found.visits) == (role, visit)
                assert plain(found.state) == state, (visit, role)


async def run(
    flow: Flow, script: Script, store: Store, session: str, turn: str
) -> list[tuple[int, str | None, dict[str, Any]]]:
    async with staged(flow, ScriptedModel(*script.replies), store, session, turn) as stage:
        watched: Any = Watched(stage)
        stage.state.unsealed = [stage.deps.log.prompt_row]  # pyright: ignore
        await drive(flow, stage.state, replace(stage.deps, log=watched), Interrupt())
    return watched.states
