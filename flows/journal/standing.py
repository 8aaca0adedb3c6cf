"""Where a turn stands: its state at a boundary between two nodes, read back from the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ThinkingPart, UserPromptPart
from pydantic_ai.usage import RunUsage

from ...graphs.declared import END
from ...nodes.errors import StoreError, UsageError
from ...nodes.history.sanitise import sanitise
from ...nodes.history.tail import tail
from ...nodes.reply import split_thoughts, text_of
from ...nodes.slots import Slot, ToolCallRegistry
from ...nodes.state import RequestContext, TurnState
from ...tools.effects import Effect
from ..store import (
    Body,
    IntentBody,
    MessageBody,
    Record,
    ResultBody,
    SealBody,
    Store,
    TurnBody,
    VisitBody,
)
from .changes import CALL, MESSAGES, PLAIN, REPLY, THE_REPLY
from .given import GIVEN


@dataclass
class Standing:
    """A turn after its first `visits` nodes. `role` runs next, `None` is the flow's start, made with what is `given`.

    `row` is the boundary's row in the log, and `after` holds what the turn wrote beyond it, before it was cut off.
    """

    state: TurnState
    visits: int
    role: str | None
    row: int
    given: Any = None
    after: Sequence[Record] = ()


def standing(store: Store, turn_id: str, at: int | None = None) -> Standing:
    """Where a turn stood after its visit number `at`, 0 for its beginning; by default at its last boundary.

    Raises:
        UsageError: the turn has no such boundary.
        StoreError: a row that the state needs cannot be read.
    """
    journal = store.journal(turn_id)
    turn = store.turn_body(turn_id)
    found = _beginning(store, turn)
    boundaries = [record for record in journal if is_boundary(record)]
    if at is not None:
        boundaries = [record for record in boundaries if _visit(record).number <= at]
        reached = _visit(boundaries[-1]).number if boundaries else found.visits
        if reached != at:
            last = max((_visit(one).number for one in journal if is_boundary(one)), default=found.visits)
            raise UsageError(
                f"turn {turn_id} has no boundary {at}: choose one from {found.visits} to {last}, which "
                f"`turngraph turn show {turn_id[:8]}` numbers"
            )
    _Fold(store, turn, found).through(journal, boundaries[-1].id if boundaries else found.row)
    return found


def is_boundary(record: Record) -> bool:
    """Whether a row says that a node was left for another one."""
    return isinstance(record.body, VisitBody) and record.body.visit.to not in (None, END)


def _visit(record: Record) -> Any:
    assert isinstance(record.body, VisitBody)
    return record.body.visit


def _beginning(store: Store, turn: TurnBody) -> Standing:
    """Where the turn began: at its prompt, or at a boundary of the turn that it was forked from."""
    head = turn.head
    if turn.origin is not None:
        found = _at_row(store, turn.origin.turn, turn.origin.visit)
        found.state.turn_id, found.state.session_id = head.turn_id, head.session_id
        found.state.request = replace(found.state.request, request_id=head.request_id)
        found.state.flow = head.flow
        messages = found.state.session.messages
        if found.visits:  # what is not sealed yet is put back at the end, or comes with this turn's first seal
            found.state.session.messages = messages[: len(messages) - len(found.state.unsealed)]
        if turn.prompt is not None and not found.state.iteration:  # later it is sealed, and cannot be another
            found.state.prompt, found.state.unsealed = turn.said, [turn.prompt_row]
        return replace(found, after=())
    if turn.prompt is None:
        raise StoreError(f"the prompt of turn {head.turn_id} cannot be read; begin another turn instead")
    state = TurnState(
        turn_id=head.turn_id,
        session_id=head.session_id,
        flow=head.flow,
        prompt=turn.said,
        started_at=_said_at(turn.prompt),
        request=RequestContext(head.request_id, head.limits.get("max_iterations", RequestContext.max_iterations)),
        unsealed=[turn.prompt_row],
    )
    return Standing(state, 0, None, turn.prompt_row)


def _at_row(store: Store, turn_id: str, row: int) -> Standing:
    for record in store.journal(turn_id):
        if record.id == row and isinstance(record.body, VisitBody):
            return standing(store, turn_id, record.body.visit.number)
    return standing(store, turn_id, _beginning(store, store.turn_body(turn_id)).visits)


def _said_at(prompt: ModelRequest) -> datetime:
    said = next((part.timestamp for part in prompt.parts if isinstance(part, UserPromptPart)), prompt.timestamp)
    return said or datetime.fromtimestamp(0, UTC)


class _Fold:
    """Puts the changes of the visits, and the rows they name, on a state."""

    def __init__(self, store: Store, turn: TurnBody, found: Standing) -> None:
        self._store = store
        self._turn = turn
        self._found = found
        self._state = found.state
        self._bodies: dict[int, Body | None] = {}
        self._pending: list[Record] = []
        self._history: tuple[int, int | list[Any]] | None = None
        self._seals: list[Record] = []

    def through(self, journal: Sequence[Record], last: int) -> None:
        """Apply all rows up to `last`; the rest is what came after."""
        for record in journal:
            self._bodies[record.id] = record.body
            if record.id > last:
                continue
            if isinstance(record.body, IntentBody | ResultBody):
                self._pending.append(record)
            elif isinstance(record.body, SealBody):
                self._seals.append(record)
            elif isinstance(record.body, VisitBody):
                self._visit(record, record.body)
        self._found.after = [record for record in journal if record.id > last]
        self._found.row = last
        self._messages()

    def _visit(self, record: Record, body: VisitBody) -> None:
        state, changed = self._state, body.changed
        for name in PLAIN:
            if name in changed:
                setattr(state, name, changed[name])
        if "usage" in changed:
            state.usage = RunUsage(**changed["usage"])
        if "cost" in changed:
            state.cost = None if changed["cost"] is None else Decimal(changed["cost"])
        if "thoughts" in changed:
            state.session.thoughts += self._thoughts(changed["thoughts"])
        if "reply" in changed or "reply_row" in changed:
            state.reply = self._reply(changed)
        if "answer" in changed:
            state.answer = changed["answer"]
            if changed["answer"] is THE_REPLY:
                state.answer = text_of(state.reply) if state.reply is not None else ""
        if "slots" in changed:
            state.session.tool_registry = self._registry(changed["slots"])
        self._settle()
        if "history" in changed:
            self._history = record.id, changed["history"]
        self._found.visits, self._found.role = body.visit.number, body.visit.to
        self._found.given = changed.get(GIVEN)

    def _reply(self, changed: Mapping[str, Any]) -> ModelResponse | None:
        form = changed.get("reply", "said")
        if isinstance(form, dict):
            return REPLY.validate_python(form)
        row = self._state.reply_row
        if row is None:
            return None
        message = self._message(row)
        if not isinstance(message, ModelResponse):
            raise StoreError(f"row {row}, a reply of the model, cannot be read; the turn cannot go on from here")
        return message if form == "whole" else split_thoughts(message)[0]

    def _thoughts(self, new: Sequence[int | str]) -> list[str]:
        """Thoughts, those by their place taken from the reply that held them before this visit."""
        row = self._state.reply_row
        reply = self._message(row) if row is not None else None
        held = {
            at: part.content
            for at, part in enumerate(reply.parts if reply is not None else ())
            if isinstance(part, ThinkingPart)
        }
        return [held.get(one, "") if isinstance(one, int) else one for one in new]

    def _registry(self, slots: Sequence[Mapping[str, Any]]) -> ToolCallRegistry:
        calls = self._state.reply.tool_calls if self._state.reply is not None else []
        registry = ToolCallRegistry()
        for position, decided in enumerate(slots):
            call = CALL.validate_python(decided["call"]) if "call" in decided else calls[position]
            registry.slots.append(Slot(position, call, Effect(decided["effect"]), decided["approved"]))
        return registry

    def _settle(self) -> None:
        """Fill the slots whose results were written up to this visit."""
        slots = self._state.session.tool_registry.slots
        for record in self._pending:
            body = record.body
            if not isinstance(body, IntentBody | ResultBody) or body.position >= len(slots):
                continue
            slot = slots[body.position]
            slot.started = slot.started or isinstance(body, IntentBody)
            if isinstance(body, ResultBody):
                slot.status, slot.result, slot.row = body.status, body.part, record.id
                slot.duration_ms, slot.edited = body.duration_ms, list(body.edited)
        self._pending = []

    def _messages(self) -> None:
        state = self._state
        sealed = {row for seal in self._seals for row in _rows(seal)}
        state.unsealed = [row for row in state.unsealed if row not in sealed]
        since = 0
        if self._history is not None:
            since, form = self._history
            if isinstance(form, list):
                base: list[ModelMessage] = MESSAGES.validate_python(form)
            else:
                base, _ = sanitise(self._store.load_messages(state.session_id, since).messages)
                base = tail(base, form)
            state.session.messages = base
        elif self._turn.origin is None:
            state.session.messages = self._store.load_messages(state.session_id, self._turn.prompt_row).messages
        state.session.messages += self._store.sealed_messages([seal.id for seal in self._seals if seal.id > since])
        if self._found.visits:
            state.session.messages += [one for row in state.unsealed if (one := self._message(row)) is not None]

    def _message(self, row: int) -> ModelMessage | None:
        body = self._bodies.get(row)
        if isinstance(body, TurnBody):
            return body.prompt
        return body.message if isinstance(body, MessageBody) else self._store.message(row)


def _rows(seal: Record) -> list[int]:
    if not isinstance(seal.body, SealBody):
        return []
    return [row for item in seal.body.messages for row in ((item,) if isinstance(item, int) else item)]
