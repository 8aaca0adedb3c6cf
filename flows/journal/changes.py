"""What a node changed in the state, as plain JSON that costs the same however long the history is.

What rows of the log hold already is named and not repeated: replies, results and messages by their rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RunUsage

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
        self._seen = _plain(state)
        self._slots = _slots(state)
        self._answer = state.answer
        self._reply = state.reply
        self._messages = state.session.messages
        self._thoughts = len(state.session.thoughts)

    def since(self, state: TurnState) -> dict[str, Any]:
        """The changes since this was asked last."""
        seen, slots = _plain(state), _slots(state)
        changed = {name: value for name, value in seen.items() if value != self._seen[name]}
        if slots != self._slots:
            changed["slots"] = slots
        if state.answer != self._answer:
            said = state.reply is not None and state.answer == text_of(state.reply)
            changed["answer"] = THE_REPLY if said else state.answer
        changed.update(self._of_reply(state), **self._of_thoughts(state), **self._of_messages(state))
        self._seen, self._slots, self._answer, self._reply = seen, slots, state.answer, state.reply
        self._thoughts = len(state.session.thoughts)
        self._messages = state.session.messages
        return changed

    def _of_reply(self, state: TurnState) -> Mapping[str, Any]:
        """Whether the thinking is still in the reply; the whole reply only where it has no row."""
        if state.reply is self._reply or state.reply is None:
            return {}
        if state.reply_row is None:
            return {"reply": REPLY.dump_python(state.reply, mode="json")}
        return {"reply": "whole" if _thinks(state.reply) else "said"}

    def _of_thoughts(self, state: TurnState) -> Mapping[str, Any]:
        """New thoughts: the number of the reply's part that holds one, or the text of one that no reply holds."""
        new = state.session.thoughts[self._thoughts :]
        parts: Sequence[object] = self._reply.parts if self._reply is not None else ()
        held = {part.content: at for at, part in enumerate(parts) if isinstance(part, ThinkingPart)}
        return {"thoughts": [held.get(thought, thought) for thought in new]} if new else {}

    def _of_messages(self, state: TurnState) -> Mapping[str, Any]:
        """How a history that was put together anew follows from the one before.

        As the number of its last messages that are left, where those are the same or a row of the log says what was
        done to them; else as it is. Messages that are not sealed yet do not count: they have rows.
        """
        if state.session.messages is self._messages:
            return {}
        new = state.session.messages[: len(state.session.messages) - len(state.unsealed)]
        before = tail(self._messages, len(new))
        same = len(new) == len(before) and all(map(_is_same, new, before))
        if same or state.history_row != self._seen["history_row"]:
            return {"history": len(new)}
        return {"history": MESSAGES.dump_python(new, mode="json")}


def _plain(state: TurnState) -> dict[str, Any]:
    plain: dict[str, Any] = {name: _copied(getattr(state, name)) for name in PLAIN}
    plain["usage"] = usage_as_json(state.usage)
    plain["cost"] = None if state.cost is None else str(state.cost)
    return plain


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, dict | list) else value


def usage_as_json(usage: RunUsage) -> dict[str, Any]:
    return {name: _copied(value) for name, value in vars(usage).items() if value}


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
