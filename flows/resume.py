"""Going on with a turn that was cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset

from ..nodes.deps import Limits
from ..nodes.errors import UsageError
from ..nodes.events import Notice, Sink
from ..nodes.model_port import ModelPort
from ..nodes.outcome import TurnResult
from ..nodes.state import RequestContext
from ..tools.policy import Auto, Policy
from .equipment import check_flow, equipped
from .flow import STANDARD, Flow
from .going_on import go_on, next_role
from .interrupt import Interrupt
from .journal.changes import Changes
from .journal.differences import differences
from .journal.past import CutOff, catch_up
from .journal.standing import standing
from .keeper import Keeper
from .models import create_model
from .store import Store, TurnHead
from .trees import Trees

_LIMITS = TypeAdapter(Limits)


async def resume_turn(
    turn_id: str,
    *,
    store: Store,
    model: Model | str,
    toolsets: Sequence[AbstractToolset[Any]] = (),
    flow: Flow = STANDARD,
    sink: Sink | None = None,
    policy: Policy | None = None,
    limits: Limits | None = None,
    tool_deps: Any = None,
    interrupt: Interrupt | None = None,
    trees: Trees | None = None,
    accept_graph_change: bool = False,
    debug: bool = False,
) -> TurnResult:
    """Go on with a turn from its last boundary.

    No model request and no call that came to its end runs again. A call that was under way is run again if it only
    reads; any other is answered to the model as interrupted, with an unknown outcome. The instructions, the limits
    unless given, and the history come from the record.

    Args:
        turn_id: the whole id of the turn.
        accept_graph_change: go on in `flow` although its graph is not the one that the turn began in.
        others: as `run_turn`.

    Raises:
        UsageError: the turn has ended, or its graph is another now, or has no such role any more.
        SessionBusy: its process still runs.
        StoreError: it cannot be read, or a later turn of its session has begun.
    """
    head = store.turn_body(turn_id).head
    check_flow(flow)
    _compare(head, flow, accept_graph_change)
    model = create_model(model) if isinstance(model, str) else model
    limits = limits or limits_of(head, model)
    async with equipped(
        model,
        toolsets,
        policy=policy or Auto(),
        limits=limits,
        instructions=head.instructions,
        sink=sink,
        tool_deps=tool_deps,
    ) as equipment:
        with store.take_over(turn_id) as log:
            found = standing(store, turn_id)
            role = next_role(found, flow)
            changes = Changes(found.state)
            catch_up(store, found)
            past = CutOff(found.after)
            found.state.request = RequestContext(head.request_id, limits.max_iterations, debug)
            return await go_on(
                flow,
                found,
                equipment.deps(flow, log, past),
                interrupt or Interrupt(),
                notices=[
                    Notice("info", f"resumed at {role}, after {found.visits} visits of nodes"),
                    *(Notice("warning", text) for text in past.warnings),
                ],
                changes=changes,
                keeper=None if trees is None else Keeper(trees, Path(head.workdir), log, equipment.sink),
            )


def limits_of(head: TurnHead, model: Model | None = None) -> Limits:
    """The limits that a turn began with; the context window is that of its model, and not of another."""
    limits = _LIMITS.validate_python(head.limits)
    same = model is None or ModelPort(model).name == head.model
    return limits if same else replace(limits, context_window=None)


def _compare(head: TurnHead, flow: Flow, accepted: bool) -> None:
    if head.graph_hash == flow.graph_hash or accepted:
        return
    what = "; ".join(differences(head.graph, flow.shape)) or "its record is of an older version, without its graph"
    raise UsageError(
        f"the graph of turn {head.turn_id} has changed since it began: {what}; choose the flow it ran in, or give "
        "--accept-graph-change to go on in the new one"
    )
