"""The rows of the log: what each kind holds, and the summaries read from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import ConfigDict, TypeAdapter
from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturnPart

from ...nodes.deps import Visit
from ...nodes.outcome import Outcome, TurnResult
from ...nodes.slots import CallStatus
from ...tools.effects import Effect
from .owner import Owner


@dataclass(frozen=True)
class SessionBody:
    workdir: str


@dataclass(frozen=True, kw_only=True)
class TurnHead:
    """What a turn starts with. `lineup` names the class, as `module:QualName`, that plays each role, and
    `sources` the hash of its source file; `graph_hash` tells whether two turns ran the same graph; `instructions` is
    the system prompt as it was sent."""

    turn_id: str
    session_id: str
    request_id: str
    prompt: str
    flow: str
    lineup: Mapping[str, str]
    model: str
    policy: str
    workdir: str
    instructions: str
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    graph_hash: str = ""


@dataclass(frozen=True)
class TurnBody:
    """A turn took its session: the turns of a session count its epochs."""

    epoch: int
    owner: Owner
    head: TurnHead


@dataclass(frozen=True)
class MessageBody:
    message: ModelMessage
    replaces: int | None = None


@dataclass(frozen=True)
class IntentBody:
    """A call is about to run. `call` is there only when the reply before it does not hold it there."""

    position: int
    call_id: str
    name: str
    effect: Effect
    call: ToolCallPart | None = None


@dataclass(frozen=True)
class ResultBody:
    """A call has its result; `call` as in `IntentBody`, `duration_ms` without the waiting for a person."""

    position: int
    status: CallStatus
    effect: Effect
    duration_ms: int
    edited: tuple[str, ...]
    part: ToolReturnPart
    call: ToolCallPart | None = None


@dataclass(frozen=True)
class VisitBody:
    visit: Visit


@dataclass(frozen=True)
class RepairBody:
    description: str


@dataclass(frozen=True)
class SealBody:
    """Makes messages visible: an item is the row of a message, or the rows of the results of one request."""

    messages: tuple[int | tuple[int, ...], ...]


@dataclass(frozen=True)
class EndBody:
    result: TurnResult


@dataclass(frozen=True)
class ReleaseBody:
    """A turn gave its session back without an end."""


Body = (
    SessionBody
    | TurnBody
    | MessageBody
    | IntentBody
    | ResultBody
    | VisitBody
    | RepairBody
    | SealBody
    | EndBody
    | ReleaseBody
)


@dataclass(frozen=True)
class Record:
    """One row of the log; `body` is `None` when it cannot be decoded; `iteration` 0 is before the first."""

    id: int
    session: str
    turn: str | None
    iteration: int
    kind: str
    at: datetime
    body: Body | None


class LoadedHistory(NamedTuple):
    """The sealed messages of a session, and how many more are sealed but could not be decoded."""

    messages: list[ModelMessage]
    skipped: int


@dataclass(frozen=True)
class SessionSummary:
    """`last_used_at` is when its last turn began or ended; `last_outcome` is `None` where it did not end."""

    id: str
    workdir: str
    started_at: datetime
    last_used_at: datetime
    turns: int
    first_prompt: str | None
    last_outcome: Outcome | None


_CONFIG = ConfigDict(defer_build=True, ser_json_bytes="base64", val_json_bytes="base64")


def _adapter(body: type[Body]) -> TypeAdapter[Body]:
    # `| None`, because only a config given here reaches the messages inside, and a bare dataclass takes none.
    optional: Any = body | None
    return TypeAdapter(optional, config=_CONFIG)


ADAPTERS: dict[str, TypeAdapter[Body]] = {
    kind: _adapter(body)
    for kind, body in {
        "session": SessionBody,
        "turn": TurnBody,
        "message": MessageBody,
        "intent": IntentBody,
        "result": ResultBody,
        "visit": VisitBody,
        "repair": RepairBody,
        "seal": SealBody,
        "end": EndBody,
        "release": ReleaseBody,
    }.items()
}
