"""Trying a turn differently, from one of its boundaries on."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset

from ..nodes.deps import Limits
from ..nodes.errors import UsageError
from ..nodes.events import Notice, Sink
from ..nodes.outcome import TurnResult
from ..nodes.said import prompt_message
from ..nodes.state import RequestContext
from ..tools.policy import Auto, Policy
from ..tools.secret import environment_secrets
from .equipment import check_flow, equipped
from .flow import STANDARD, Flow
from .going_on import go_on, next_role
from .heading import heading
from .interrupt import Interrupt
from .journal.standing import standing
from .keeper import Keeper
from .models import create_model
from .resume import limits_of
from .store import Origin, Store
from .trees import Trees


async def fork_turn(
    turn_id: str,
    at: int,
    *,
    store: Store,
    model: Model | str,
    toolsets: Sequence[AbstractToolset[Any]] = (),
    flow: Flow = STANDARD,
    prompt: str | None = None,
    sink: Sink | None = None,
    policy: Policy | None = None,
    limits: Limits | None = None,
    instructions: str | None = None,
    workdir: Path | None = None,
    tool_deps: Any = None,
    interrupt: Interrupt | None = None,
    trees: Trees | None = None,
    asked: Mapping[str, Any] | None = None,
    debug: bool = False,
) -> TurnResult:
    """Run a new turn, in a session of its own, from exactly the state that a turn had after its visit `at`.

    What came before is shared, not copied, and nothing of it runs again; what the turn did afterwards is not known to
    the new one.

    Args:
        turn_id: the whole id of the turn, finished or not.
        at: the number of a visit, 0 for the turn's beginning.
        prompt: another prompt in place of the turn's own, where that has not been answered yet.
        others: as `run_turn`; limits, instructions and workdir by default as the turn had them.

    Raises:
        UsageError: there is no such boundary, the flow has no role to go on with there, or the prompt has been
            answered by then.
        StoreError: the turn cannot be read, or the store not be written.
    """
    source = store.turn_body(turn_id).head
    model = create_model(model) if isinstance(model, str) else model
    limits, workdir = limits or limits_of(source, model), workdir or Path(source.workdir)
    check_flow(flow)
    found = standing(store, turn_id, at)
    role = next_role(found, flow)
    if prompt is not None and found.state.iteration:
        raise UsageError(
            f"the prompt of turn {turn_id} had been answered by visit {at}; to edit it, fork the turn --at 0"
        )
    async with equipped(
        model,
        toolsets,
        policy=policy or Auto(),
        limits=limits,
        instructions=source.instructions if instructions is None else instructions,
        sink=sink,
        tool_deps=tool_deps,
    ) as equipment:
        session = store.create_session(str(workdir), after=found.row)
        new_id = uuid.uuid4().hex
        head = heading(flow, equipment, new_id, session, workdir=str(workdir), asked=asked or {})
        safe = None if prompt is None else environment_secrets().redact(prompt)
        said = None if safe is None else prompt_message(safe, equipment.clock.now())
        shared = store.turn_body(turn_id).prompt_row if said is None else None
        with store.begin_turn(head, said, origin=Origin(turn_id, found.row), prompt_row=shared) as log:
            found = standing(store, new_id, at)
            found.state.request = RequestContext(head.request_id, limits.max_iterations, debug)
            return await go_on(
                flow,
                found,
                equipment.deps(flow, log),
                interrupt or Interrupt(),
                notices=[Notice("info", f"forked from turn {turn_id[:8]} after {at} visits of nodes, at {role}")],
                keeper=None if trees is None else Keeper(trees, workdir, log, equipment.sink),
            )
