"""Running one call: the intent, the attempts, the result."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from pydantic import ValidationError
from pydantic_ai.exceptions import (
    ApprovalRequired,
    ToolFailedError,
    ToolRetryError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.tool_manager import ToolManager

from ..tools.effects import Effect
from ..tools.progress import reporting
from .authorise import authorise
from .checks import problem_of
from .deps import TurnDeps
from .errors import SinkError, TurnAborted, TurngraphError
from .events import Notice, ToolProgress, ToolStarted
from .request_log import log_tool_phase
from .results import recall, settle, unwrap
from .slots import CallStatus, Slot
from .state import TurnState

ATTEMPTS = 3
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 5.0
JITTER = 0.1
MAY_HAVE_HAPPENED = (
    "Its outcome is unknown: its effects may have happened, in whole or in part. It was not tried again; check first."
)


class _Refused(Exception):
    """The policy refused a call whose tool asked for approval while it ran."""


_NEVER_RETRIED = (
    _Refused,
    ToolRetryError,
    ToolFailedError,
    UnexpectedModelBehavior,
    ValidationError,
    UserError,
    ApprovalRequired,
    TurngraphError,
)


async def perform(
    state: TurnState, deps: TurnDeps, manager: ToolManager[Any], slot: Slot, limiter: anyio.CapacityLimiter
) -> None:
    """Run a call and fill its slot. An exception of the tool is the result; only an abort or a cancel gets out."""
    known = deps.past.call(state, slot)
    if known is not None:
        await recall(state, deps, slot, known)
        return
    async with limiter:
        deps.log.intent(state.iteration, slot)
        slot.started = True
        await deps.sink.emit(ToolStarted(slot.call.tool_call_id, slot.call.tool_name))
        began = deps.clock.ms()
        try:
            with reporting(_progress(deps, slot)):
                content, slot.edited = unwrap(await _attempts(deps, manager, slot))
            status = CallStatus.OK
        except (SinkError, TurnAborted):
            raise
        except _Refused as refusal:
            content, status = f"Refused: {refusal}.", CallStatus.REFUSED
            state.refused = True
        except (Exception, SystemExit) as error:
            content, status = _failure(slot, error), CallStatus.ERROR
        except anyio.get_cancelled_exc_class():
            if _cancelled_from_outside():
                raise
            content, status = "The tool cancelled itself and gave no result.", CallStatus.ERROR
        slot.duration_ms = round(deps.clock.ms() - began)
        log_tool_phase(state, f"{slot.call.tool_name} {status} after {slot.duration_ms} ms")
        await settle(state, deps, slot, status, content)


async def _attempts(deps: TurnDeps, manager: ToolManager[Any], slot: Slot) -> Any:
    """Try a read-only call up to three times; any other call once, since its effect may have happened."""
    attempts = ATTEMPTS if slot.effect is Effect.READ_ONLY else 1
    for attempt in range(1, attempts + 1):
        try:
            return await _call(deps, manager, slot)
        except _NEVER_RETRIED:
            raise
        except Exception as error:
            if attempt == attempts:
                raise
            pause = pause_before(attempt + 1)
            name = slot.call.tool_name
            why = deps.secrets.redact(str(error))
            await deps.sink.emit(Notice("info", f"{name} failed ({why}); trying again in {pause:.1f} s"))
            await anyio.sleep(pause)
    raise AssertionError("unreachable: the last attempt returns or raises")


async def _call(deps: TurnDeps, manager: ToolManager[Any], slot: Slot) -> Any:
    """Call the tool. What the policy allowed counts as approved, unless the tool asks although it only reads."""
    try:
        return await manager.handle_call(slot.call, approved=slot.approved)
    except ApprovalRequired:
        refusal = await authorise(deps, slot, requires_approval=True)
        if refusal is not None:
            raise _Refused(refusal.reason) from None
        return await manager.handle_call(slot.call, approved=True)


def pause_before(attempt: int) -> float:
    """Seconds before an attempt: half a second, doubling, at most five, and up to a tenth more by chance."""
    pause = min(FIRST_PAUSE * 2 ** (attempt - 2), LONGEST_PAUSE)
    return pause * (1 + random.uniform(0, JITTER))


def _failure(slot: Slot, error: BaseException) -> ToolReturnPart | str:
    """What the model is told; of a call that broke off while it changed something, that nobody knows how far it got."""
    if not isinstance(error, Exception):
        return f"The tool tried to exit the program ({error})."
    problem = problem_of(error)
    if slot.effect is Effect.READ_ONLY or isinstance(error, _NEVER_RETRIED) or not isinstance(problem, str):
        return problem
    return f"{problem}\n{MAY_HAVE_HAPPENED}"


def _cancelled_from_outside() -> bool:
    return anyio.current_effective_deadline() == float("-inf")


def _progress(deps: TurnDeps, slot: Slot) -> Callable[[str], Awaitable[None]]:
    async def report(text: str) -> None:
        shown = deps.secrets.redact(text)
        await deps.sink.emit(ToolProgress(slot.call.tool_call_id, slot.call.tool_name, shown))

    return report
