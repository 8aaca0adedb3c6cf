"""The one call that runs a turn: what it needs is opened, and closed again, around it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset

from ..nodes.deps import Limits, TurnDeps
from ..nodes.errors import SinkError, TurngraphError
from ..nodes.events import Event, Sink
from ..nodes.model_port import ModelPort
from ..nodes.outcome import TurnResult
from ..nodes.state import RequestContext, SessionState, TurnState
from ..nodes.toolbox import Toolbox
from ..tools.policy import Auto, Policy
from .clock import SystemClock
from .drive import drive
from .flow import STANDARD, Flow
from .interrupt import Interrupt
from .models import create_model
from .opened import opened
from .sinks import NullSink
from .store import Store, TurnHead


async def run_turn(
    prompt: str,
    *,
    model: Model | str,
    toolsets: Sequence[AbstractToolset[Any]] = (),
    flow: Flow = STANDARD,
    sink: Sink | None = None,
    store: Store | None = None,
    session: str | None = None,
    policy: Policy | None = None,
    limits: Limits | None = None,
    instructions: str = "",
    workdir: Path | None = None,
    tool_deps: Any = None,
    interrupt: Interrupt | None = None,
    debug: bool = False,
) -> TurnResult:
    """Run one turn: from a prompt to a result.

    Args:
        prompt: what the user says.
        model: a pydantic-ai model, or a specification such as `anthropic:claude-sonnet-4-5`.
        toolsets: pydantic-ai toolsets, taken as they are; they are opened and closed with the turn.
        flow: the graph to run; `STANDARD.swap(MyStream)` plays one role differently.
        sink: where events go; nowhere by default.
        store: where the turn is kept; in memory, and gone afterwards, by default.
        session: the id of the session to go on with; a new one by default.
        policy: who may run what; by default every tool the caller hands in runs.
        limits: the turn's budgets.
        instructions: the system prompt.
        workdir: the directory the session belongs to; the current one by default. Tools have their own root.
        tool_deps: what the toolsets see as `RunContext.deps`.
        interrupt: ends the turn from outside when it is fired.
        debug: write the detailed log to the logger `turngraph`.

    Returns:
        The result, also when the turn failed, was interrupted or ran out of a budget.

    Raises:
        UsageError: before the turn began: a model, flow or session that cannot be, or a model or toolset that
            does not open.
        StoreError: before the turn began: the store cannot be used, or the session is busy elsewhere.
    """
    limits, policy = limits or Limits(), policy or Auto()
    clock = SystemClock()
    workdir = (workdir or Path.cwd()).resolve()
    model = create_model(model) if isinstance(model, str) else model
    port = ModelPort(model, instructions=instructions, max_tokens=limits.max_tokens)
    _check(flow)
    async with AsyncExitStack() as stack:
        store = store or stack.enter_context(Store.in_memory())
        await stack.enter_async_context(opened("the model", model))
        toolset = await stack.enter_async_context(opened("a toolset", CombinedToolset(list(toolsets))))
        session = session or store.create_session(str(workdir))
        turn_id = uuid.uuid4().hex
        request = RequestContext(turn_id[:8], limits.max_iterations, debug)
        log = stack.enter_context(
            store.begin_turn(
                TurnHead(
                    turn_id=turn_id,
                    session_id=session,
                    request_id=request.request_id,
                    prompt=prompt,
                    flow=flow.name,
                    lineup={role: played.cls for role, played in flow.played.items()},
                    sources={role: played.source for role, played in flow.played.items()},
                    graph_hash=flow.graph_hash,
                    model=port.name,
                    policy=type(policy).__name__,
                    workdir=str(workdir),
                    instructions=instructions,
                )
            )
        )
        history = store.load_messages(session)
        state = TurnState(
            turn_id=turn_id,
            session_id=session,
            flow=flow.name,
            prompt=prompt,
            request=request,
            agent_state=flow.machine.initial,
            session=SessionState(messages=history.messages),
            started_ms=clock.ms(),
        )
        deps = TurnDeps(
            model=port,
            toolbox=Toolbox(toolset, model, tool_deps),
            policy=policy,
            sink=_TypedSink(sink or NullSink()),
            log=log,
            clock=clock,
            limits=limits,
            lineup=flow.lineup,
            tool_deps=tool_deps,
        )
        notices = _said_of_history(store, turn_id, session, history.skipped)
        return await drive(flow, state, deps, interrupt or Interrupt(), notices)


def _said_of_history(store: Store, turn_id: str, session: str, skipped: int) -> list[str]:
    """What a person should know of the history that the turn goes on with."""
    notices: list[str] = []
    if skipped:
        notices.append(f"{skipped} damaged messages of the session left out")
    if store.cut_off_before(turn_id) is not None:
        notices.append(
            "the turn before this one was cut off: the model does not see what it left unfinished, and the effects of "
            f"calls that were running may have happened; `turngraph session show {session}` shows it"
        )
    return notices


def _check(flow: Flow) -> None:
    """Refuse a flow that breaks the rules; the standard one is checked by the tests, which spares its start-up."""
    if flow is not STANDARD:
        from ..graphs.rules import check

        check(flow)


class _TypedSink:
    """A sink whose failures cannot be taken for a model's or a tool's."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def emit(self, event: Event) -> None:
        try:
            await self._sink.emit(event)
        except TurngraphError:
            raise
        except Exception as error:
            raise SinkError(f"the output could not be written ({type(error).__name__}: {error})") from error
