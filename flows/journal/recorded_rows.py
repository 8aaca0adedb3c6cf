"""The rows of a recorded turn as its replay meets them: visit by visit, and the tools that it had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic_ai.messages import ModelResponse

from ...tools.effects import Effect
from ..store import (
    Body,
    CompactBody,
    FailureBody,
    IntentBody,
    MessageBody,
    PruneBody,
    Record,
    RepairBody,
    ResultBody,
    ResumeBody,
    SealBody,
    VisitBody,
)


def by_visit(journal: Sequence[Record]) -> list[list[Record]]:
    """The rows of each visit, which come before its own; of one that was cut off, without what it wrote again then."""
    groups: list[list[Record]] = [[]]
    for record in journal:
        if isinstance(record.body, ResumeBody):
            groups[-1] = _kept_by_resume(groups[-1])
        groups[-1].append(record)
        if isinstance(record.body, VisitBody):
            groups.append([])
    return groups


def _kept_by_resume(rows: Sequence[Record]) -> list[Record]:
    """What a visit wrote before it was cut off, without what it wrote again then; see `CutOff` and `catch_up`."""
    done = max((row.id for row in rows if isinstance(row.body, PruneBody | CompactBody | SealBody)), default=0)
    replied = max((row.id for row in rows if _is_received(row.body)), default=0)
    return [row for row in rows if row.id <= done or not _is_written_again(row, replied)]


def _is_received(body: Body | None) -> bool:
    return isinstance(body, MessageBody) and isinstance(body.message, ModelResponse) and body.replaces is None


def _is_written_again(row: Record, replied: int) -> bool:
    """Whether a node that runs again after a cut writes such a row again; what it received, it finds there."""
    if isinstance(row.body, FailureBody):
        return row.id > replied or not row.body.overflow
    return isinstance(row.body, RepairBody) or (isinstance(row.body, MessageBody) and not _is_received(row.body))


def tools_of(journal: Sequence[Record], before: Mapping[str, Sequence[str]]) -> dict[str, Effect]:
    """The tools that a turn had, and their effects; `before` are those by effect that it began with."""
    bodies = [record.body for record in journal if isinstance(record.body, VisitBody)]
    offered: list[Mapping[str, Sequence[str]]] = [before, *(body.changed.get("offered", {}) for body in bodies)]
    tools = {name: Effect(effect) for one in offered for effect, names in one.items() for name in names}
    return tools or _called(journal)


def _called(journal: Sequence[Record]) -> dict[str, Effect]:
    """The tools that were called, for records of an older version and turns through an agent."""
    effects: dict[str, Effect] = {}
    for record in journal:
        if isinstance(record.body, IntentBody):
            effects[record.body.name] = record.body.effect
        elif isinstance(record.body, ResultBody):
            effects.setdefault(record.body.part.tool_name, record.body.effect)
    return effects
