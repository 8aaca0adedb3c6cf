"""Going on with a turn from where it stands: what resuming, forking and replaying share."""

from __future__ import annotations

from collections.abc import Sequence

from ..nodes.deps import TurnDeps
from ..nodes.errors import UsageError
from ..nodes.events import Notice
from ..nodes.outcome import TurnResult
from .drive import drive
from .flow import Flow
from .interrupt import Interrupt
from .journal.changes import Changes
from .journal.given import made_again
from .journal.standing import Standing
from .keeper import Keeper


def next_role(found: Standing, flow: Flow) -> str:
    """The role that runs next.

    Raises:
        UsageError: the flow does not have it.
    """
    role = found.role or flow.start
    if role not in flow.lineup:
        raise UsageError(
            f"turn {found.state.turn_id} goes on with {role} after {found.visits} visits, a role that the flow "
            f"{flow.name} does not have"
        )
    return role


async def go_on(
    flow: Flow,
    found: Standing,
    deps: TurnDeps,
    interrupt: Interrupt,
    *,
    notices: Sequence[Notice] = (),
    changes: Changes | None = None,
    keeper: Keeper | None = None,
) -> TurnResult:
    """Walk the rest of the graph, from the node that runs next, made as it was made.

    Raises:
        UsageError: the flow does not have its role, or its class takes something else.
    """
    found.state.started_ms = deps.clock.ms()
    return await drive(
        flow,
        found.state,
        deps,
        interrupt,
        notices=notices,
        visits=found.visits,
        changes=changes,
        start=made_again(flow.lineup[next_role(found, flow)], found.given),
        keeper=keeper,
    )
