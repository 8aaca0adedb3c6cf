"""The debug log of a request's life, written to the logger `turngraph` when the request has debug metrics on."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage, ModelResponse

from .reply import text_of
from .state import TurnState

logger = logging.getLogger("turngraph")
PREVIEW = 100


def log_history_state(state: TurnState) -> None:
    """What was loaded."""
    if state.request.debug_metrics:
        _log(state, "history loaded: %s", _summary(state.session.messages))


def log_sanitised_history_state(state: TurnState, messages: Sequence[ModelMessage]) -> None:
    """What is left of it after repair and pruning."""
    if state.request.debug_metrics:
        _log(state, "history to send: %s", _summary(messages))


def log_node_details(state: TurnState, reply: ModelResponse) -> None:
    """What the reply holds."""
    if state.request.debug_metrics:
        kinds = Counter(part.part_kind for part in reply.parts)
        _log(
            state,
            "reply %d: %s, finish reason %s, %d tokens in, %d out, text %r",
            state.iteration,
            dict(kinds),
            reply.finish_reason,
            reply.usage.input_tokens,
            reply.usage.output_tokens,
            text_of(reply)[:PREVIEW],
        )


def log_dispatch_summary(state: TurnState) -> None:
    """Which calls may run, in which batches."""
    if state.request.debug_metrics:
        slots = state.session.tool_registry.slots
        calls = ", ".join(f"{slot.call.tool_name} {slot.status or 'may run'}" for slot in slots)
        _log(state, "dispatch %d: %s; batches %s", state.iteration, calls or "no calls", state.batches)


def log_tool_phase(state: TurnState, phase: str) -> None:
    if state.request.debug_metrics:
        _log(state, "tools %d: %s", state.iteration, phase)


def _log(state: TurnState, message: str, *args: object) -> None:
    logger.debug(f"[{state.request.request_id}] {message}", *args)


def _summary(messages: Sequence[ModelMessage]) -> str:
    parts = Counter(part.part_kind for message in messages for part in message.parts)
    return f"{len(messages)} messages, {dict(parts)}"
