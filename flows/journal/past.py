"""What the node that was cut off had come to already."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pydantic_ai.messages import ModelResponse

from ...nodes.deps import KnownCall
from ...nodes.slots import CallStatus, Slot, ToolCallRegistry
from ...nodes.state import TurnState
from ...tools.effects import Effect
from ..store import IntentBody, MessageBody, Record, ResultBody, SealBody, Store
from .standing import Standing


class CutOff:
    """The rows that a node wrote before its turn was cut off, for the same node when it runs again."""

    def __init__(self, rows: Sequence[Record]) -> None:
        self._replies = deque(
            (record.body.message, record.id)
            for record in rows
            if isinstance(record.body, MessageBody)
            and isinstance(record.body.message, ModelResponse)
            and record.body.replaces is None
        )
        self._calls = known_calls(rows)
        self._under_way = [
            record.body.name
            for record in rows
            if isinstance(record.body, IntentBody)
            and record.body.effect is not Effect.READ_ONLY
            and self._calls[record.iteration, record.body.position].part is None
        ]

    @property
    def warnings(self) -> list[str]:
        """What a person should know of the calls that were under way."""
        if not self._under_way:
            return []
        names = ", ".join(sorted(set(self._under_way)))
        return [
            f"{len(self._under_way)} call(s) of {names} were under way: their effects may have happened, they are not "
            "run again, and the model is told so"
        ]

    def reply(self, state: TurnState) -> tuple[ModelResponse, int] | None:
        return self._replies.popleft() if self._replies else None

    def call(self, state: TurnState, slot: Slot) -> KnownCall | None:
        known = self._calls.get((state.iteration, slot.position))
        if known is not None and known.part is None and slot.effect is Effect.READ_ONLY:
            return None
        return known


def known_calls(rows: Sequence[Record]) -> dict[tuple[int, int], KnownCall]:
    """What came of each call, by its iteration and position."""
    calls: dict[tuple[int, int], KnownCall] = {}
    for record in rows:
        body = record.body
        if isinstance(body, IntentBody):
            calls[record.iteration, body.position] = KnownCall(CallStatus.UNKNOWN, ran=True, part=None, row=None)
        elif isinstance(body, ResultBody):
            key = record.iteration, body.position
            ran = key in calls and calls[key].ran
            calls[key] = KnownCall(body.status, ran, body.part, record.id, body.duration_ms, body.edited)
    return calls


def seal_again(store: Store, found: Standing) -> None:
    """Bring the state behind a seal that was written when the node that wrote it was cut off."""
    state = found.state
    for record in found.after:
        if isinstance(record.body, SealBody):
            messages = state.session.messages
            state.session.messages = messages[: len(messages) - len(state.unsealed)]
            state.session.messages += store.sealed_messages([record.id])
            state.unsealed, state.batches = [], []
            state.reply = state.reply_row = None
            state.retries = state.session.tool_registry.retries(state.retries)
            state.session.tool_registry = ToolCallRegistry()
