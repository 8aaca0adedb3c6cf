"""The one call that runs a turn."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset

from ..nodes.deps import Limits
from ..nodes.errors import UsageError
from ..nodes.events import Notice, Sink
from ..nodes.outcome import TurnResult
from ..nodes.said import prompt_message
from ..nodes.state import RequestContext, SessionState, TurnState
from ..tools.policy import Auto, Policy
from ..tools.secret import environment_secrets
from .drive import drive
from .equipment import Equipment, check_flow, equipped
from .flow import STANDARD, Flow
from .heading import heading
from .interrupt import Interrupt
from .journal.abandon import abandon
from .keeper import Keeper
from .store import Store
from .trees import Trees


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
    trees: Trees | None = None,
    asked: Mapping[str, Any] | None = None,
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
        trees: where the files of a git workspace are recorded along the turn; they are not, by default.
        asked: how the caller was asked for this turn, as plain JSON, for whoever resumes it.
        debug: write the detailed log to the logger `turngraph`.

    Returns:
        The result, also when the turn failed, was interrupted or ran out of a budget.

    Raises:
        UsageError: before the turn began: a model, flow or session that cannot be, or a model or toolset that
            does not open.
        StoreError: before the turn began: the store cannot be used, or the session is busy elsewhere.
    """
    limits, policy = limits or Limits(), policy or Auto()
    workdir = (workdir or Path.cwd()).resolve()
    async with AsyncExitStack() as stack:
        equipment = await stack.enter_async_context(
            equipped(
                model,
                toolsets,
                policy=policy,
                limits=limits,
                instructions=instructions,
                sink=sink,
                tool_deps=tool_deps,
            )
        )
        check_flow(flow)
        store = store or stack.enter_context(Store.in_memory())
        session = session or store.create_session(str(workdir))
        notices = await _cut_off_before(store, session, flow, equipment)
        if (safe := environment_secrets().redact(prompt)) != prompt:
            notices.append("the prompt held the value of a secret variable; its name is sent and stored in its place")
        turn_id = uuid.uuid4().hex
        started_at = equipment.clock.now()
        head = heading(flow, equipment, turn_id, session, workdir=str(workdir), asked=asked or {})
        log = stack.enter_context(store.begin_turn(head, prompt_message(safe, started_at)))
        history = store.load_messages(session)
        if history.skipped:
            notices.append(f"{history.skipped} damaged messages of the session left out")
        state = TurnState(
            turn_id=turn_id,
            session_id=session,
            flow=flow.name,
            prompt=safe,
            started_at=started_at,
            request=RequestContext(head.request_id, limits.max_iterations, debug),
            agent_state=flow.machine.initial,
            session=SessionState(messages=history.messages),
            unsealed=[log.prompt_row],
            started_ms=equipment.clock.ms(),
        )
        return await drive(
            flow,
            state,
            equipment.deps(flow, log),
            interrupt or Interrupt(),
            notices=[Notice("warning", text) for text in notices],
            keeper=None if trees is None else Keeper(trees, workdir, log, equipment.sink),
        )


async def _cut_off_before(store: Store, session: str, flow: Flow, equipment: Equipment) -> list[str]:
    """Close the session's last turn, if it was cut off, as an interrupt would have; what a person should know of it."""
    dead = store.unfinished_turn(session)
    if dead is None:
        return []
    try:
        await abandon(store, dead, flow, equipment)
    except UsageError:
        if store.unfinished_turn(session) == dead:
            raise
        return []  # another process was faster; whether it is at work now is asked when this turn begins
    return [
        "the turn before this one was cut off and is closed now: the model is told, and the effects of calls that were "
        f"running may have happened; `turngraph turn show {dead[:8]}` shows it"
    ]
