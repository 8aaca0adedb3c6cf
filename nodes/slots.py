"""One result slot per tool call: the registry of a reply's calls, their arguments and their lifecycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from ..tools.effects import Effect


class CallStatus(StrEnum):
    """How a call ended. `UNKNOWN`: it was under way when the turn stopped and its effect may have happened."""

    OK = "ok"
    ERROR = "error"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


_RETURN_OUTCOME: dict[CallStatus, Literal["success", "failed", "denied", "interrupted"]] = {
    CallStatus.OK: "success",
    CallStatus.ERROR: "failed",
    CallStatus.REFUSED: "denied",
    CallStatus.CANCELLED: "interrupted",
    CallStatus.UNKNOWN: "interrupted",
}


@dataclass
class Slot:
    """The place of one call's result, keyed by the call's position in its reply and filled exactly once.

    `row` is the id of the result's row in the store. `duration_ms` counts the running, not the waiting for a person.
    """

    position: int
    call: ToolCallPart
    effect: Effect = Effect.EXECUTE
    approved: bool = False
    started: bool = False
    status: CallStatus | None = None
    result: ToolReturnPart | None = None
    row: int | None = None
    duration_ms: int = 0
    edited: list[str] = field(default_factory=list[str])

    @property
    def open(self) -> bool:
        return self.status is None

    def fill(self, status: CallStatus, content: Any) -> ToolReturnPart:
        """Fill the slot with a result the model will see.

        Raises:
            ValueError: the slot is filled already.
        """
        return self.fill_with(
            status,
            ToolReturnPart(
                tool_name=self.call.tool_name,
                content=content,
                tool_call_id=self.call.tool_call_id,
                outcome=_RETURN_OUTCOME[status],
            ),
        )

    def fill_with(self, status: CallStatus, part: ToolReturnPart) -> ToolReturnPart:
        """Fill the slot with a ready-made part, such as pydantic-ai's own retry feedback."""
        if not self.open:
            raise ValueError(f"call {self.position} ({self.call.tool_name}) already has a result: {self.status}")
        self.status, self.result = status, part
        return part


@dataclass
class ToolCallRegistry:
    """The calls of the current reply, in its order."""

    slots: list[Slot] = field(default_factory=list[Slot])

    def register(self, call: ToolCallPart) -> Slot:
        slot = Slot(position=len(self.slots), call=call)
        self.slots.append(slot)
        return slot

    def by_id(self, tool_call_id: str) -> Slot:
        """The slot of a call of this reply.

        Raises:
            KeyError: no call of this reply has that id.
        """
        for slot in self.slots:
            if slot.call.tool_call_id == tool_call_id:
                return slot
        raise KeyError(tool_call_id)

    @property
    def open(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.open]

    @property
    def refused(self) -> bool:
        return any(slot.status is CallStatus.REFUSED for slot in self.slots)

    def retries(self, before: Mapping[str, int]) -> dict[str, int]:
        """For each tool, how many replies in a row were asked to call it again; `before` is what it was before these.

        Counted from the results, and as pydantic-ai's own `ToolManager` does, which forgets it with its process.
        """
        done = {slot.call.tool_name for slot in self.slots if slot.status is CallStatus.OK}
        again = {slot.call.tool_name for slot in self.slots if _asked_again(slot.result)}
        kept = {name: count for name, count in before.items() if name not in done}
        return kept | {name: before.get(name, 0) + 1 for name in again}

    def results(self) -> list[ToolReturnPart]:
        """One part for each call, in the reply's order.

        Raises:
            ValueError: a slot is still open.
        """
        parts = [slot.result for slot in self.slots if slot.result is not None]
        if len(parts) != len(self.slots):
            raise ValueError(f"{len(self.open)} of {len(self.slots)} calls have no result yet")
        return parts


def _asked_again(result: ToolReturnPart | None) -> bool:
    return result is not None and result.retry is not None and result.retry.attempt is not None
