"""The end of a turn that was killed and is not resumed."""

from __future__ import annotations

from dataclasses import replace

from ...nodes.commit import commit
from ...nodes.outcome import Outcome
from ..equipment import Equipment
from ..flow import Flow
from ..sinks import NullSink
from ..store import Store
from .past import CutOff, catch_up
from .standing import standing

KILLED = "its process was killed"


async def abandon(store: Store, turn_id: str, flow: Flow, equipment: Equipment) -> None:
    """Close a turn that was cut off, as an interrupt would have closed it, so that the session can go on.

    Raises:
        SessionBusy: it still runs.
        StoreError: it cannot be read or written.
    """
    with store.take_over(turn_id) as log:
        found = standing(store, turn_id)
        catch_up(store, found)
        deps = replace(equipment, sink=NullSink()).deps(flow, log, CutOff(found.after))
        result = await commit(found.state, deps, Outcome.INTERRUPTED, KILLED)
        assert result is not None
        log.end(replace(result, model=store.turn_body(turn_id).head.model))
