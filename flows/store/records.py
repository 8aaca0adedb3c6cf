"""The rows of the log: what each kind holds, and the summaries read from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolCallPart, ToolReturnPart, UserPromptPart

from ...nodes.deps import Visit
from ...nodes.history.stamp import unstamp
from ...nodes.outcome import Outcome, TurnResult
from ...nodes.slots import CallStatus
from ...tools.effects import Effect
from .owner import Owner


@dataclass(frozen=True)
class SessionBody:
    workdir: str


@dataclass(frozen=True)
class BranchBody:
    """From here on the session's history is the one that the row `after`, of any session, sees, and what follows."""

    after: int


@dataclass(frozen=True, kw_only=True)
class TurnHead:
    """What a turn starts with.

    `lineup` names the class, as `module:QualName`, that plays each role, and `sources` the hash of its source file;
    `graph` is the graph as plain JSON, and `graph_hash` tells whether two turns ran the same one; `instructions` is the
    system prompt as it was sent. `limits` and `asked`, what the turn was asked to run with, are plain JSON.
    """

    turn_id: str
    session_id: str
    request_id: str
    flow: str
    lineup: Mapping[str, str]
    model: str
    policy: str
    workdir: str
    instructions: str
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    graph: Mapping[str, Any] = field(default_factory=dict[str, Any])
    graph_hash: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict[str, Any])
    asked: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Origin:
    """Where a turn that was not begun by its prompt alone starts from: a visit's row of another turn, by its id."""

    turn: str
    visit: int


@dataclass(frozen=True)
class TurnBody:
    """A turn took its session: the turns of a session, and who resumed them, count its epochs.

    `prompt_row` is the row that holds the prompt: this one, or that of the turn it is shared with.
    """

    epoch: int
    owner: Owner
    head: TurnHead
    prompt: ModelRequest | None
    prompt_row: int
    origin: Origin | None = None

    @property
    def said(self) -> str:
        """The text of the prompt, without the time before it."""
        parts = self.prompt.parts if self.prompt else ()
        return unstamp("\n".join(_text_of(part) for part in parts if isinstance(part, UserPromptPart)))


def _text_of(part: UserPromptPart) -> str:
    content = part.content
    return content if isinstance(content, str) else "\n".join(item for item in content if isinstance(item, str))


@dataclass(frozen=True)
class ResumeBody:
    """Another owner took over the turn, and with it its session."""

    epoch: int
    owner: Owner


@dataclass(frozen=True)
class MessageBody:
    message: ModelMessage
    replaces: int | None = None


@dataclass(frozen=True)
class FailureBody:
    """A model request failed; with `overflow` because it was larger than the model's context window."""

    error: str
    overflow: bool = False


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
    """A node was visited; its duration is kept to the microsecond. `changed` is what it changed in the state."""

    visit: Visit
    changed: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class RepairBody:
    description: str


@dataclass(frozen=True)
class SealBody:
    """Makes messages visible: an item is the row of a message, or the rows of the results of one request.

    `replies` are those of the rows that hold a model's reply.
    """

    messages: tuple[int | tuple[int, ...], ...]
    replies: tuple[int, ...] = ()


@dataclass(frozen=True)
class PruneBody:
    """From here on only the last `whole` replies of the history keep the results of their calls."""

    whole: int


@dataclass(frozen=True)
class CompactBody:
    """From here on the history is the message of the row `summary`, and the last `kept` replies."""

    summary: int
    kept: int


@dataclass(frozen=True)
class ExternalBody:
    """A message from outside; `turn` is the row of the turn that ran then, whose messages come before it."""

    message: ModelMessage
    turn: int | None = None


@dataclass(frozen=True)
class TreeBody:
    """The workspace's files at this point, as a commit."""

    commit: str


@dataclass(frozen=True)
class EndBody:
    result: TurnResult


@dataclass(frozen=True)
class ReleaseBody:
    """A turn gave its session back without an end."""


Body = (
    SessionBody
    | BranchBody
    | TurnBody
    | ResumeBody
    | MessageBody
    | FailureBody
    | IntentBody
    | ResultBody
    | VisitBody
    | RepairBody
    | SealBody
    | PruneBody
    | CompactBody
    | ExternalBody
    | TreeBody
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
    """`last_used_at` is when its last turn began or ended; `last_outcome` is `None` where it did not end.

    `tokens` is the size of the context at its last sealed reply: what went in and what came out. `forked_from` is
    the id of the session that this one began from.
    """

    id: str
    workdir: str
    started_at: datetime
    last_used_at: datetime
    turns: int
    first_prompt: str | None
    last_outcome: Outcome | None
    tokens: int | None = None
    forked_from: str | None = None
