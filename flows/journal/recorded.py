"""A turn's record as the log and the past of its replay: everything asked of it is compared with what was written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import Any, Literal, cast

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from ...nodes.deps import KnownCall, Visit
from ...nodes.errors import StoreError, TurngraphError
from ...nodes.outcome import TurnResult
from ...nodes.slots import Slot
from ...nodes.state import TurnState
from ...tools.effects import Effect
from ..store import (
    CompactBody,
    IntentBody,
    MessageBody,
    PruneBody,
    Record,
    RepairBody,
    ResultBody,
    SealBody,
    Store,
    VisitBody,
)
from .past import known_calls
from .standing import standing

_SHOWN = 400
_COUNTED_LIVE = {"usage", "retries", "cost"}
"""What tools count while they run, which they do not in a replay."""


@dataclass(frozen=True)
class Departure:
    """Where a replay left the record: the visit, its role, what differs, and both sides in words."""

    visit: int
    role: str
    what: Literal["request", "calls", "writes", "state", "transition"]
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
        self._rows = _grouped(journal)
        self._calls = known_calls(journal)
        self.effects: Mapping[str, Effect] = _effects(journal)
        self.begins = _visit(self._visits[0]).number - 1
        self.total = len(self._visits)
        self.passed = 0
        self.departure: Departure | None = None
        self._open(0)

    def _open(self, number: int) -> None:
        """Turn to the rows of a visit."""
        rows = self._rows[number] if number < len(self._rows) else []
        self._left = deque(row for row in rows if not isinstance(row.body, IntentBody | ResultBody | VisitBody))

    # the past

    def reply(self, state: TurnState) -> tuple[ModelResponse, int] | None:
        recorded = self._take(MessageBody, lambda body: isinstance(body.message, ModelResponse))
        if recorded is None:
            raise self._depart("request", "no further request", f"a request after {_last(state.session.messages)}")
        before = standing(self._store, self._turn_id, self.begins + self.passed).state.session.messages
        for number, (one, other) in enumerate(zip(before, state.session.messages, strict=False), 1):
            if not _same(one, other):
                raise self._depart("request", f"message {number} {_short(one)}", f"message {number} {_short(other)}")
        if len(before) != len(state.session.messages):
            raise self._depart("request", f"{len(before)} messages", f"{len(state.session.messages)} messages")
        return recorded.body.message, recorded.id

    def call(self, state: TurnState, slot: Slot) -> KnownCall | None:
        known = self._calls.get((state.iteration, slot.position))
        if known is None:
            raise self._depart("calls", f"no call {slot.position + 1}", f"a call of {slot.call.tool_name}")
        if known.part is not None and known.part.tool_name != slot.call.tool_name:
            raise self._depart("calls", f"a call of {known.part.tool_name}", f"a call of {slot.call.tool_name}")
        return known

    # the log

    def message(self, message: ModelMessage, *, replaces: int | None = None) -> int:
        if message == self._turn.prompt:
            return self._turn.prompt_row
        recorded = self._take(MessageBody, lambda body: body.replaces == replaces)
        if recorded is None or not _same(recorded.body.message, message):
            raise self._depart("writes", _short(recorded and recorded.body.message), _short(message))
        return recorded.id

    def intent(self, iteration: int, slot: Slot) -> None:
        raise self._depart("calls", "no further call that runs", f"a call of {slot.call.tool_name}")

    def result(self, iteration: int, slot: Slot) -> int:
        known = self._calls.get((iteration, slot.position))
        if known is None or known.row is None or known.status is not slot.status:
            recorded = "no result" if known is None else f"the result {known.status}"
            raise self._depart("calls", recorded, f"the result {slot.status} of {slot.call.tool_name}")
        return known.row

    def repair(self, description: str) -> int:
        return self._written(RepairBody(description))

    def prune(self, whole: int) -> int:
        return self._written(PruneBody(whole))

    def compact(self, summary: int, kept: int) -> int:
        return self._written(CompactBody(summary, kept))

    def seal(self, iteration: int, messages: Sequence[int | Sequence[int]]) -> int:
        return self._written(SealBody(tuple(item if isinstance(item, int) else tuple(item) for item in messages)))

    def visit(self, visit: Visit, changed: Mapping[str, Any]) -> None:
        if self.departure is not None:
            return
        if self.passed == self.total:
            raise self._depart("transition", "the record ends", f"{visit.role} was visited")
        body = cast(VisitBody, self._visits[self.passed].body)
        one, other = (f"{side.role} -> {side.to or side.error}" for side in (body.visit, visit))
        if (body.visit.role, body.visit.to) != (visit.role, visit.to):
            raise self._depart("transition", one, other)
        names = (body.changed.keys() | changed.keys()) - _COUNTED_LIVE
        for name in sorted(names if body.changed else ()):
            if body.changed.get(name) != changed.get(name):
                sides = (f"{name} = {_clip(repr(side.get(name)))}" for side in (body.changed, changed))
                raise self._depart("state", *sides)
        self.passed += 1
        self._open(self.passed)

    def end(self, result: TurnResult) -> int:
        if self.departure is None and self.passed < self.total:
            self._depart(
                "transition", _went(self._visits[self.passed]), f"the turn ended: {result.error or result.outcome}"
            )
        return 0

    def _written(self, body: Any) -> int:
        recorded = self._take(type(body), lambda _: True)
        if recorded is None or recorded.body != body:
            raise self._depart("writes", _clip(repr(recorded and recorded.body)), _clip(repr(body)))
        return recorded.id

    def _take(self, kind: type[Any], fits: Any) -> Any:
        """The next row of a kind that this visit wrote."""
        for row in self._left:
            if isinstance(row.body, kind) and fits(row.body):
                self._left.remove(row)
                return row
        return None

    def _depart(self, what: Any, recorded: str, replayed: str) -> Departed:
        if self.departure is None:
            at = min(self.passed, self.total - 1)
            visit = _visit(self._visits[at])
            self.departure = Departure(visit.number, visit.role, what, recorded, replayed)
        return Departed(f"visit {self.departure.visit} ({self.departure.role}) departs from the record")


def _visit(record: Record) -> Visit:
    return cast(VisitBody, record.body).visit


def _went(record: Record) -> str:
    visit = _visit(record)
    return f"{visit.role} -> {visit.to or visit.error}"


def _grouped(journal: Sequence[Record]) -> list[list[Record]]:
    """The rows of each visit, which come before its own."""
    groups: list[list[Record]] = [[]]
    for record in journal:
        groups[-1].append(record)
        if isinstance(record.body, VisitBody):
            groups.append([])
    return groups


def _effects(journal: Sequence[Record]) -> dict[str, Effect]:
    effects: dict[str, Effect] = {}
    for record in journal:
        if isinstance(record.body, IntentBody):
            effects[record.body.name] = record.body.effect
        elif isinstance(record.body, ResultBody):
            effects.setdefault(record.body.part.tool_name, record.body.effect)
    return effects


def _same(one: Any, other: Any) -> bool:
    """Whether two messages say the same, whenever they did."""
    if is_dataclass(one) and type(one) is type(other):
        names = [field.name for field in fields(one)]
        return all(_same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, list) and isinstance(other, list):
        return len(cast(list[Any], one)) == len(cast(list[Any], other)) and all(map(_same, one, other))
    if isinstance(one, datetime):
        return isinstance(other, datetime)
    return one == other


def _short(message: ModelMessage | None) -> str:
    if message is None:
        return "nothing"
    kind = "request" if isinstance(message, ModelRequest) else "reply"
    return f"({kind}) {_clip(' | '.join(_parts(message)))}"


def _parts(message: ModelMessage) -> Iterator[str]:
    for part in message.parts:
        content: Any = getattr(part, "content", None) or getattr(part, "args", None)
        name = getattr(part, "tool_name", part.part_kind)
        yield f"{name}: {' '.join(str(content).split())}"


def _last(messages: Sequence[ModelMessage]) -> str:
    return _short(messages[-1]) if messages else "nothing"


def _clip(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} [{len(text) - _SHOWN} more characters]"
