"""The end of an iteration and of a turn: the one way into the history and the store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelRequest

from ..tools.effects import Effect
from .deps import TurnDeps
from .errors import StoreError
from .events import ToolCalled
from .outcome import Outcome, TurnResult
from .results import UNKNOWN_OUTCOME, recall, settle
from .said import cut_off_message, says_cut_off
from .slots import CallStatus, Slot, ToolCallRegistry
from .state import TurnState

CANCELLED = "Not run: the turn was stopped before this call started."
STOPPED_READING = "Stopped before it finished; it only reads, so nothing was changed."


async def commit(
    state: TurnState, deps: TurnDeps, outcome: Outcome | None = None, error: str | None = None
) -> TurnResult | None:
    """Close the current iteration, and the turn too if it has an outcome.

    Every open slot is filled, then the reply and the results of all its calls become visible as one unit. A reply
    that came to nothing (no calls, no whole answer) leaves no trace in the history.

    Raises:
        StoreError: the iteration could not be sealed. With an outcome it does not raise: the result says so.
    """
    if outcome is None:
        await _close_iteration(state, deps)
        return None
    try:
        unknown = await _close_iteration(state, deps)
        if not state.task_completed:
            _say_cut_off(state, deps, outcome, unknown)
    except StoreError as failure:
        return replace(_result(state, deps, Outcome.INTERNAL_ERROR, str(failure)), saved=False)
    return _result(state, deps, outcome, error)


def _say_cut_off(state: TurnState, deps: TurnDeps, outcome: Outcome, unknown: list[str]) -> None:
    """Let later turns see the prompt that got no answer, and why it got none; once, if this end was cut off itself."""
    if not state.unsealed and any(map(says_cut_off, state.session.messages[-1:])):
        return
    said = cut_off_message(outcome, unknown, deps.clock.now())
    rows = [*state.unsealed, deps.log.message(said)]
    deps.log.seal(state.iteration, rows)
    state.session.messages.append(said)
    state.unsealed = []


async def _close_iteration(state: TurnState, deps: TurnDeps) -> list[str]:
    """Seal what the iteration came to; the names of the tools whose calls have an unknown outcome."""
    registry = state.session.tool_registry
    sealing = state.reply is not None and state.reply_row is not None and (registry.slots or state.task_completed)
    if sealing:
        await _register_the_rest(state, deps)
    for slot in registry.open:
        with suppress(StoreError):  # every slot is filled first; what was not written is tried again below
            known = deps.past.call(state, slot)
            if known is None:
                await settle(state, deps, slot, *_of_unfinished(slot))
            else:
                await recall(state, deps, slot, known)
    for slot in registry.slots:
        if slot.row is None:
            slot.row = deps.log.result(state.iteration, slot)
    if sealing and state.reply is not None and state.reply_row is not None:
        added: list[ModelMessage] = [state.reply]
        rows: list[int | Sequence[int]] = [*state.unsealed, state.reply_row]
        if registry.slots:
            added.append(ModelRequest(parts=registry.results(), timestamp=deps.clock.now()))
            rows.append([slot.row for slot in registry.slots if slot.row is not None])
        deps.log.seal(state.iteration, rows)
        state.session.messages += added
        state.unsealed = []
    state.reply = state.reply_row = None
    state.retries = registry.retries(state.retries)
    state.session.tool_registry = ToolCallRegistry()
    state.batches = []
    return [slot.call.tool_name for slot in registry.slots if slot.status is CallStatus.UNKNOWN]


async def _register_the_rest(state: TurnState, deps: TurnDeps) -> None:
    """Give a slot to each call that no node registered, so that it is answered too."""
    registry = state.session.tool_registry
    registered = {slot.call.tool_call_id for slot in registry.slots}
    for call in state.reply.tool_calls if state.reply else ():
        if call.tool_call_id not in registered:
            slot = registry.register(call)
            await deps.sink.emit(ToolCalled(call.tool_call_id, call.tool_name, call.args_as_dict(), slot.effect))


def _of_unfinished(slot: Slot) -> tuple[CallStatus, str]:
    if not slot.started:
        return CallStatus.CANCELLED, CANCELLED
    if slot.effect is Effect.READ_ONLY:
        return CallStatus.CANCELLED, STOPPED_READING
    return CallStatus.UNKNOWN, UNKNOWN_OUTCOME


def _result(state: TurnState, deps: TurnDeps, outcome: Outcome, error: str | None) -> TurnResult:
    return TurnResult(
        outcome=outcome,
        turn_id=state.turn_id,
        session_id=state.session_id,
        request_id=state.request.request_id,
        flow=state.flow,
        model=deps.model.name,
        answer=state.answer if state.task_completed or outcome is Outcome.NO_ANSWER else "",
        error=error,
        iterations=state.iteration,
        usage=state.usage,
        cost=state.cost,
        duration_ms=round(deps.clock.ms() - state.started_ms),
        edited_files=tuple(state.edited_files),
    )
