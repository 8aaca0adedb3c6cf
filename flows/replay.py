"""Running a recorded turn again, offline: what the model and the tools gave comes from the journal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from ..nodes.state import RequestContext
from ..tools.policy import Auto
from .equipment import check_flow, equipped
from .flow import STANDARD, Flow
from .going_on import go_on, next_role
from .interrupt import Interrupt
from .journal.recorded import Departed, Departure, Recording
from .journal.recorded_tools import RecordedToolset
from .journal.standing import standing
from .resume import limits_of
from .store import Store


@dataclass(frozen=True)
class Replayed:
    """What a replay came to: how many visits were as recorded, of how many, and the first that was not."""

    turn_id: str
    visits: int
    recorded: int
    departure: Departure | None


async def replay_turn(store: Store, turn_id: str, *, flow: Flow = STANDARD) -> Replayed:
    """Run a recorded turn again in a flow, strictly, without a model, a tool or a write.

    Each visit must ask for what was asked, make of the reply what was made of it, change the state as it was changed
    and go on to where it went. The first that does not is the departure.

    Raises:
        UsageError: the flow breaks a rule, or does not have the role that the turn began with.
        StoreError: the turn cannot be read.
    """
    check_flow(flow)
    turn = store.turn_body(turn_id)
    limits = limits_of(turn.head)
    recording = Recording(store, turn_id)
    found = standing(store, turn_id, recording.begins)
    next_role(found, flow)  # before anything is opened
    async with equipped(
        FunctionModel(stream_function=_never_asked, model_name="replay"),
        [RecordedToolset(recording.tools(found.state.offered))],
        policy=Auto(),
        limits=limits,
        instructions=turn.head.instructions,
    ) as equipment:
        found.state.request = RequestContext(turn.head.request_id, limits.max_iterations)
        await go_on(flow, found, equipment.deps(flow, recording, recording), Interrupt())
    return Replayed(turn_id, recording.passed, recording.total, recording.departure)


async def _never_asked(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
    """A replay has no model: what asks past the record departs from it."""
    raise Departed("the model was asked for what the record does not hold")
    yield ""
