"""What the node that was cut off had come to already."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pydantic_ai.messages import ModelResponse

from ...nodes.deps import KnownCall
from ...nodes.errors import ContextOverflow
from ...nodes.history.sanitise import sanitise
from ...nodes.history.tokens import without_last_usage
from ...nodes.slots import CallStatus, Slot, ToolCallRegistry
from ...nodes.state import TurnState
from ...nodes.usage import count_usage
from ...tools.effects import Effect
from ..store import (
    CompactBody,
    FailureBody,
    IntentBody,
    MessageBody,
    PruneBody,
    Record,
    ResultBody,
    SealBody,
    Store,
)
from .standing import Standing


class CutOff:
    """The rows that a node wrote before its turn was cut off, for the same node when it runs again."""

    def __init__(self, rows: Sequence[Record]) -> None:
        self._received = deque(_received(rows))
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
        received = self._received.popleft() if self._received else None
        if isinstance(received, ContextOverflow):
            raise received
        return received

    def call(self, state: TurnState, slot: Slot) -> KnownCall | None:
        known = self._calls.get((state.iteration, slot.position))
        if known is not None and known.part is None and slot.effect is Effect.READ_ONLY:
            return None
        return known


def _received(rows: Sequence[Record]) -> list[tuple[ModelResponse, int] | ContextOverflow]:
    """The replies, and before them the refusals of requests that were too large, which led to other requests.

    A refusal that no reply followed led to nothing yet: its request is made again, perhaps to a larger model.
    """
    received: list[tuple[ModelResponse, int] | ContextOverflow] = []
    replied = 0
    for record in rows:
        body = record.body
        if isinstance(body, FailureBody) and body.overflow:
            received.append(ContextOverflow(body.error))
        elif (reply := _reply_in(record)) is not None:
            received.append((reply, record.id))
            replied = len(received)
    return received[:replied]


def _reply_in(record: Record) -> ModelResponse | None:
    """The reply that a row holds as it was received."""
    match record.body:
        case MessageBody(message=ModelResponse() as reply, replaces=None):
            return reply
        case _:
            return None


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


def catch_up(store: Store, found: Standing) -> None:
    """Bring the state behind what the node that was cut off had done to the history.

    It may have sealed its iteration; or left older messages out of the request, for which it need not ask again.
    """
    state = found.state
    for record in found.after:
        if isinstance(record.body, SealBody):
            registry = state.session.tool_registry
            del state.session.messages[_sealed(state) :]
            state.session.messages += store.sealed_messages([record.id])
            state.unsealed, state.batches = [], []
            state.reply = state.reply_row = None
            state.retries = registry.retries(state.retries)
            state.session.tool_registry = ToolCallRegistry()
        elif isinstance(record.body, PruneBody | CompactBody):
            unsealed = state.session.messages[_sealed(state) :] if found.visits else []
            kept, _ = sanitise(store.load_messages(state.session_id, record.id).messages)
            state.session.messages = [*without_last_usage(kept), *unsealed]
            state.history_row = record.id
            for earlier in found.after:
                if earlier.id < record.id and (reply := _reply_in(earlier)) is not None:
                    count_usage(state, reply)  # what the summary was made of
            found.after = [later for later in found.after if later.id > record.id]


def _sealed(state: TurnState) -> int:
    """How many of the messages are sealed."""
    return len(state.session.messages) - len(state.unsealed)
