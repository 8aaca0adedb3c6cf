"""A turn's record as the log and the past of its replay: everything asked of it is compared with what was written."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic_ai.messages import ModelMessage, ModelResponse

from ...graphs.declared import END
from ...nodes.deps import KnownCall, Visit
from ...nodes.errors import ContextOverflow, ProviderError, StoreError, TurngraphError
from ...nodes.outcome import TurnResult
from ...nodes.slots import Slot
from ...nodes.state import TurnState
from ...tools.effects import Effect
from ..store import (
    Body,
    CompactBody,
    EndBody,
    FailureBody,
    IntentBody,
    MessageBody,
    PruneBody,
    RepairBody,
    ResultBody,
    SealBody,
    Store,
    VisitBody,
)
from .comparing import clip, same, short
from .past import known_calls
from .recorded_rows import by_visit, tools_of
from .standing import standing

_What = Literal["request", "calls", "writes", "state", "transition"]
_Written = MessageBody | RepairBody | PruneBody | CompactBody | SealBody

_GIVEN = {"offered"}
"""What the record gives the replay, which has it for the whole turn."""


@dataclass(frozen=True)
class Departure:
    """Where a replay left the record: the visit, its role, what differs, and both sides in words."""

    visit: int
    role: str
    what: _What
    recorded: str
    replayed: str


class Departed(TurngraphError):
    """The replay does what the record does not hold."""


class Recording:
    """Hands out what was received, and compares what is written; the first difference ends the replay."""

    def __init__(self, store: Store, turn_id: str) -> None:
        self._store = store
        self._turn = store.turn_body(turn_id)
        self._turn_id = turn_id
        journal = store.journal(turn_id)
        self._visits = [record for record in journal if isinstance(record.body, VisitBody)]
        if not self._visits:
            raise StoreError(f"turn {turn_id} has no visits to replay: it was cut off at its beginning")
        self._rows = by_visit(journal)
        self._calls = known_calls(journal)
        self._ends = any(isinstance(record.body, EndBody) for record in journal)
        self._journal = journal
        self.begins = cast(VisitBody, self._visits[0].body).visit.number - 1
        self.total = len(self._visits)
        self.passed = 0
        self.departure: Departure | None = None
        self._open(0)

    def _open(self, number: int) -> None:
        """Turn to the rows of a visit."""
        rows = self._rows[number] if number < len(self._rows) else []
        self._written_here = {row.id for row in rows}
        self._left = deque(row for row in rows if not isinstance(row.body, IntentBody | ResultBody | VisitBody | None))

    @property
    def _over(self) -> bool:
        return self.departure is not None or self.passed == self.total

    def tools(self, before: Mapping[str, Sequence[str]]) -> Mapping[str, Effect]:
        """The tools that the turn had; `before` are those by effect that it began with."""
        return tools_of(self._journal, before)

    # the past

    def reply(self, state: TurnState) -> tuple[ModelResponse, int] | None:
        for row in self._left:
            body = row.body
            if isinstance(body, FailureBody):
                self._left.remove(row)
                raise (ContextOverflow if body.overflow else ProviderError)(body.error)
            if isinstance(body, MessageBody) and isinstance(body.message, ModelResponse):
                self._left.remove(row)
                self._compare_requests(state)
                return body.message, row.id
        last = short(state.session.messages[-1]) if state.session.messages else "nothing"
        raise self._depart("request", "no further request", f"a request after {last}")

    def call(self, state: TurnState, slot: Slot) -> KnownCall | None:
        if self._over:
            return None
        known = self._calls.get((state.iteration, slot.position))
        if known is None and not self._ends:
            return None  # it would have been run when the turn was cut off
        if known is None:
            raise self._depart("calls", f"no call {slot.position + 1}", f"a call of {slot.call.tool_name}")
        if known.part is not None and known.part.tool_name != slot.call.tool_name:
            raise self._depart("calls", f"a call of {known.part.tool_name}", f"a call of {slot.call.tool_name}")
        return known if known.ran or known.row in self._written_here else None

    # the log

    def message(self, message: ModelMessage, *, replaces: int | None = None) -> int:
        if message == self._turn.prompt:
            return self._turn.prompt_row
        return self._written(MessageBody(message, replaces), short(message))

    def failure(self, error: ProviderError) -> int:
        return 0

    def intent(self, iteration: int, slot: Slot) -> None:
        raise self._depart("calls", "no further call that runs", f"a call of {slot.call.tool_name}")

    def result(self, iteration: int, slot: Slot) -> int:
        if self._over:
            return 0
        known = self._calls.get((iteration, slot.position))
        if known is None or known.row is None or known.status is not slot.status:
            recorded = "no result" if known is None else f"the result {known.status}"
            raise self._depart("calls", recorded, f"the result {slot.status} of {slot.call.tool_name}")
        if not same(known.part, slot.result):
            recorded, replayed = (clip(f"the result {part and part.content}") for part in (known.part, slot.result))
            raise self._depart("calls", recorded, replayed)
        return known.row

    def repair(self, description: str) -> int:
        return self._written(RepairBody(description), f"a repair: {description}")

    def prune(self, whole: int) -> int:
        return self._written(PruneBody(whole), f"the results before the last {whole} replies cleared")

    def compact(self, summary: int, kept: int) -> int:
        return self._written(CompactBody(summary, kept), f"a summary before the last {kept} replies")

    def seal(self, iteration: int, messages: Sequence[int | Sequence[int]]) -> int:
        items = tuple(item if isinstance(item, int) else tuple(item) for item in messages)
        return self._written(SealBody(items), f"a seal of the rows {items}")

    def visit(self, visit: Visit, changed: Mapping[str, Any]) -> None:
        if self.departure is not None:
            return
        if self.passed == self.total:
            raise self._depart("transition", "the record ends", f"{visit.role} was visited")
        body = cast(VisitBody, self._visits[self.passed].body)
        if (body.visit.role, body.visit.to) != (visit.role, visit.to):
            raise self._depart("transition", _went(body.visit), _went(visit))
        names = (body.changed.keys() | changed.keys()) - _GIVEN
        for name in sorted(names if body.changed else ()):
            if _decided(name, body.changed) != _decided(name, changed):
                one, other = (f"{name} = {clip(repr(side.get(name)))}" for side in (body.changed, changed))
                raise self._depart("state", one, other)
        self.passed += 1
        self._open(self.passed)

    def end(self, result: TurnResult) -> int:
        if self.departure is None and self.passed < self.total:
            expected = cast(VisitBody, self._visits[self.passed].body).visit
            self._depart("transition", _went(expected), f"the turn ended: {result.error or result.outcome}")
        return 0

    def _written(self, body: _Written, said: str) -> int:
        """The row of what this visit wrote too; after the departure, or the last visit, nothing is compared."""
        if self._over:
            return 0
        row = next((row for row in self._left if type(row.body) is type(body)), None)
        if row is None:
            raise self._depart("writes", "nothing", said)
        if not same(row.body, body):
            raise self._depart("writes", clip(_told(row.body)), said)
        self._left.remove(row)
        return row.id

    def _compare_requests(self, state: TurnState) -> None:
        """Hold the history that is sent to the recorded one, as it was before this visit or as the visit left it.

        The visit itself may have put a summary in the place of older messages, and asked for that before.
        """
        sent = state.session.messages
        at = self.begins + self.passed
        recorded = standing(self._store, self._turn_id, at).state.session.messages
        if same(recorded, sent):
            return
        if cast(VisitBody, self._visits[self.passed].body).visit.to not in (None, END):
            recorded = standing(self._store, self._turn_id, at + 1).state.session.messages
        for number, (one, other) in enumerate(zip(recorded, sent, strict=False), 1):
            if not same(one, other):
                raise self._depart("request", f"message {number} {short(one)}", f"message {number} {short(other)}")
        if len(recorded) != len(sent):
            raise self._depart("request", f"{len(recorded)} messages", f"{len(sent)} messages")

    def _depart(self, what: _What, recorded: str, replayed: str) -> Departed:
        visit = cast(VisitBody, self._visits[min(self.passed, self.total - 1)].body).visit
        if self.passed < self.total and visit.to is None:
            return Departed(f"the record ends in visit {visit.number}: {visit.error}")
        if self.passed == self.total and not self._ends:
            return Departed(f"the record ends after visit {visit.number}: the turn was cut off there")
        if self.departure is None:
            self.departure = Departure(visit.number, visit.role, what, recorded, replayed)
        return Departed(f"visit {visit.number} ({visit.role}) departs from the record")


def _went(visit: Visit) -> str:
    return f"{visit.role} -> {visit.to or visit.error}"


def _told(body: Body | None) -> str:
    return short(body.message) if isinstance(body, MessageBody) else repr(body)


def _decided(name: str, changed: Mapping[str, Any]) -> Any:
    """A change as it counts: what the policy approved of the calls is in their results."""
    value: Any = changed.get(name)
    if name != "slots" or not value:
        return value
    return [{key: of for key, of in slot.items() if key != "approved"} for slot in cast(list[dict[str, Any]], value)]
