"""What a node changed in the state, as plain JSON that costs the same however long the history is.

What rows of the log hold already is named and not repeated: replies, results and messages by their rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ThinkingPart, ToolCallPart

from ...nodes.history.tail import tail
from ...nodes.reply import text_of
from ...nodes.slots import Slot
from ...nodes.state import TurnState

PLAIN = (
    "agent_state",
    "iteration",
    "guidance",
    "unusable_replies",
    "task_completed",
    "refused",
    "reply_row",
    "history_row",
    "retries",
    "offered",
    "edited_files",
    "batches",
    "unsealed",
)
"""The fields that are JSON as they are."""

CALL: TypeAdapter[ToolCallPart] = TypeAdapter(ToolCallPart)
REPLY: TypeAdapter[ModelResponse] = TypeAdapter(ModelResponse)
MESSAGES = ModelMessagesTypeAdapter
THE_REPLY = True
"""The answer is the text of the reply, which has its own row."""


class Changes:
    """Looks at the state after each node, and tells what is new since the look before."""

    def __init__(self, state: TurnState) -> None:
        self._seen: dict[str, Any] = {}
        self._slots = _slots(state)
        self._answer = state.answer
        self._reply = state.reply
        self._messages = state.session.messages
        self._thoughts = len(state.session.thoughts)
        self._of_plain(state)

    def since(self, state: TurnState) -> dict[str, Any]:
        """The changes since this was asked last."""
        history_row = self._seen["history_row"]
        changed = self._of_plain(state)
        slots = _slots(state)
        if slots != self._slots:
            changed["slots"] = self._slots = slots
        if state.answer != self._answer:
            said = state.reply is not None and state.answer == text_of(state.reply)
            changed["answer"] = THE_REPLY if said else state.answer
            self._answer = state.answer
        if state.session.messages is not self._messages:
            changed["history"] = self._history(state, rewritten=state.history_row != history_row)
            self._messages = state.session.messages
        if len(state.session.thoughts) > self._thoughts:
            changed["thoughts"] = self._new_thoughts(state)
            self._thoughts = len(state.session.thoughts)
        if state.reply is not self._reply:
            changed.update(_form_of_reply(state))
            self._reply = state.reply
        return changed

    def _of_plain(self, state: TurnState) -> dict[str, Any]:
        changed: dict[str, Any] = {}
        for name in PLAIN:
            value = getattr(state, name)
            if value != self._seen.get(name, self):
                changed[name] = value.copy() if isinstance(value, list | dict) else value
        usage = {name: value for name, value in vars(state.usage).items() if value}
        if usage != self._seen.get("usage"):
            changed["usage"] = usage | ({"details": dict(state.usage.details)} if state.usage.details else {})
        cost = None if state.cost is None else str(state.cost)
        if cost != self._seen.get("cost", self):
            changed["cost"] = cost
        self._seen.update(changed)
        return changed

    def _new_thoughts(self, state: TurnState) -> list[int | str]:
        """The number of the reply's part that holds a thought, or the text of one that no reply holds."""
        parts: Sequence[object] = self._reply.parts if self._reply is not None else ()
        held = {part.content: at for at, part in enumerate(parts) if isinstance(part, ThinkingPart)}
        return [held.get(thought, thought) for thought in state.session.thoughts[self._thoughts :]]

    def _history(self, state: TurnState, *, rewritten: bool) -> int | list[Any]:
        """How a history that was put together anew follows from the one before.

        As the number of its last messages that are left, where those are the same or a row of the log says how they
        were rewritten; else as it is. Messages that are not sealed yet do not count: they have rows.
        """
        new = state.session.messages[: len(state.session.messages) - len(state.unsealed)]
        before = tail(self._messages, len(new))
        if rewritten or (len(new) == len(before) and all(map(_is_same, new, before))):
            return len(new)
        return MESSAGES.dump_python(new, mode="json")


def _form_of_reply(state: TurnState) -> Mapping[str, Any]:
    """Whether the thinking is still in a reply that has a row; else the whole reply."""
    if state.reply is None:
        return {}
    if state.reply_row is None:
        return {"reply": REPLY.dump_python(state.reply, mode="json")}
    return {"reply": "whole" if _thinks(state.reply) else "said"}


def _slots(state: TurnState) -> list[dict[str, Any]]:
    """The calls of the reply with what was decided about them; what came of them is in the rows of results."""
    calls = state.reply.tool_calls if state.reply is not None else []
    return [_slot(slot, calls) for slot in state.session.tool_registry.slots]


def _slot(slot: Slot, calls: list[ToolCallPart]) -> dict[str, Any]:
    decided: dict[str, Any] = {"effect": slot.effect.value, "approved": slot.approved}
    if slot.position >= len(calls) or calls[slot.position] != slot.call:
        decided["call"] = CALL.dump_python(slot.call, mode="json")
    return decided


def _is_same(one: ModelMessage, other: ModelMessage) -> bool:
    """Whether two messages hold the very same parts."""
    return one is other or (
        type(one) is type(other)
        and len(one.parts) == len(other.parts)
        and all(part is same for part, same in zip(one.parts, other.parts, strict=True))
    )


def _thinks(reply: ModelResponse) -> bool:
    return any(isinstance(part, ThinkingPart) and not part.signature for part in reply.parts)
