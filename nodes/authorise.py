"""Asking the policy about one call."""

from __future__ import annotations

from ..tools.policy import Abort, CallRequest, Refuse
from .deps import TurnDeps
from .errors import TurnAborted
from .events import ApprovalAsked
from .slots import Slot


async def authorise(deps: TurnDeps, slot: Slot, *, requires_approval: bool) -> Refuse | None:
    """Ask whether a call may run; the refusal if it may not. An allowed call is approved unless it only reads.

    Raises:
        TurnAborted: the answer was to abort the turn.
    """
    call = slot.call
    request = CallRequest(call.tool_call_id, call.tool_name, call.args_as_dict(), slot.effect, requires_approval)
    if deps.policy.asks(request):
        await deps.sink.emit(ApprovalAsked(call.tool_call_id, call.tool_name, request.args))
    decision = await deps.policy.decide(request)
    if isinstance(decision, Abort):
        raise TurnAborted(f"aborted at the question about {call.tool_name}")
    if isinstance(decision, Refuse):
        return decision
    slot.approved = not request.harmless
    return None
