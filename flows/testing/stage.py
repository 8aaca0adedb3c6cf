"""One turn set up for its nodes to be played one by one, the same each time."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic_ai.models import Model

from ...nodes.deps import Limits, TurnDeps
from ...nodes.model_port import ModelPort
from ...nodes.said import prompt_message
from ...nodes.state import RequestContext, SessionState, TurnState
from ...nodes.toolbox import Toolbox
from ...tools.policy import Auto
from ..flow import Flow
from ..sinks import MemorySink
from ..store import Store, TurnHead
from .scripts import tools

PROMPT = "work"
ITERATIONS = 4
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class StillClock:
    """Noon, for ever, so that two turns can be compared."""

    def now(self) -> datetime:
        return NOON

    def ms(self) -> float:
        return 0.0


@dataclass(frozen=True)
class Stage:
    """A turn's state and deps before its first node; `sink` holds the events."""

    state: TurnState
    deps: TurnDeps
    sink: MemorySink


@asynccontextmanager
async def staged(flow: Flow, model: Model, store: Store, session: str, turn_id: str) -> AsyncGenerator[Stage]:
    """A turn of a session in a store, ready to be played, with the tools of the scripts open."""
    port, sink = ModelPort(model), MemorySink()
    head = TurnHead(
        turn_id=turn_id,
        session_id=session,
        request_id=turn_id[:8],
        flow=flow.name,
        lineup={role: one.cls for role, one in flow.played.items()},
        model=port.name,
        policy=Auto.__name__,
        workdir="",
        limits={"max_iterations": ITERATIONS},
        instructions="",
    )
    async with model, tools() as toolset:
        with store.begin_turn(head, prompt_message(PROMPT, NOON)) as log:
            state = TurnState(
                turn_id=turn_id,
                session_id="session",  # not the store's, which is another each time
                flow=flow.name,
                prompt=PROMPT,
                started_at=NOON,
                request=RequestContext(head.request_id, ITERATIONS),
                agent_state=flow.machine.initial,
                session=SessionState(messages=store.load_messages(session).messages),
            )
            deps = TurnDeps(
                model=port,
                toolbox=Toolbox(toolset, model, None),
                policy=Auto(),
                sink=sink,
                log=log,
                clock=StillClock(),
                limits=Limits(max_iterations=ITERATIONS),
                lineup=flow.lineup,
            )
            yield Stage(state, deps, sink)
