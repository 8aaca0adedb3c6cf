"""What a turn tells the outside while it runs: one union of events, one `Sink`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .outcome import TurnResult
from .slots import CallStatus


@dataclass(frozen=True)
class TurnStarted:
    turn_id: str
    session_id: str
    request_id: str
    flow: str
    model: str
    prompt: str


@dataclass(frozen=True)
class NodeEntered:
    """A node starts. `visit` counts all node visits of the turn from 1; `iteration` counts model requests."""

    role: str
    visit: int
    iteration: int
    state: str


@dataclass(frozen=True)
class NodeLeft:
    """A node is done. `to` is the next role or `end`; it is `None` when the node raised or was cancelled."""

    role: str
    visit: int
    iteration: int
    to: str | None
    duration_ms: float
    error: str | None = None


@dataclass(frozen=True)
class TextDelta:
    text: str


@dataclass(frozen=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True)
class ToolCalled:
    """The model asked for a call; `args` are as the model sent them, parsed where they parse."""

    call_id: str
    name: str
    args: Any
    effect: str


@dataclass(frozen=True)
class ApprovalAsked:
    call_id: str
    name: str
    args: Any


@dataclass(frozen=True)
class ToolStarted:
    call_id: str
    name: str


@dataclass(frozen=True)
class ToolProgress:
    call_id: str
    name: str
    text: str


@dataclass(frozen=True)
class ToolFinished:
    """A call has its result. `result` is the text the model sees, cut at 50,000 characters with the cut said;
    `size` is the length of the whole in characters; `edited` lists files of the workspace the call wrote."""

    call_id: str
    name: str
    status: CallStatus
    args: Any
    result: str
    size: int
    duration_ms: int
    edited: tuple[str, ...] = ()


@dataclass(frozen=True)
class Notice:
    """Something a person should know that is no error: a repair, a cut, a retry."""

    level: Literal["info", "warning"]
    text: str


@dataclass(frozen=True)
class TurnEnded:
    result: TurnResult


Event = (
    TurnStarted
    | NodeEntered
    | NodeLeft
    | TextDelta
    | ThinkingDelta
    | ToolCalled
    | ApprovalAsked
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | Notice
    | TurnEnded
)


class Sink(Protocol):
    """Where events go. A sink must not block; what it raises ends the turn like a node's own error."""

    async def emit(self, event: Event) -> None: ...
