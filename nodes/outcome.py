"""How a turn ended: the one terminal value that the exit code, the JSON and the session mark derive from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from pydantic_ai.usage import RunUsage


class Outcome(StrEnum):
    """Why a turn ended. Only `COMPLETED` is success; each outcome has its process exit code."""

    COMPLETED = "completed"
    INTERNAL_ERROR = "internal_error"
    USAGE_ERROR = "usage_error"
    PROVIDER_FAILURE = "provider_failure"
    BUDGET_EXHAUSTED = "budget_exhausted"
    REFUSED = "refused"
    NO_ANSWER = "no_answer"
    SESSION_BUSY = "session_busy"
    INTERRUPTED = "interrupted"
    ABORTED = "aborted"
    TERMINATED = "terminated"

    @property
    def exit_code(self) -> int:
        return _EXIT_CODES[self]


_EXIT_CODES = {
    Outcome.COMPLETED: 0,
    Outcome.INTERNAL_ERROR: 1,
    Outcome.USAGE_ERROR: 2,
    Outcome.PROVIDER_FAILURE: 3,
    Outcome.BUDGET_EXHAUSTED: 4,
    Outcome.REFUSED: 5,
    Outcome.NO_ANSWER: 6,
    Outcome.SESSION_BUSY: 7,
    Outcome.INTERRUPTED: 130,
    Outcome.ABORTED: 130,
    Outcome.TERMINATED: 143,
}


@dataclass(frozen=True)
class Played:
    """Who played a role: the class, as `module:QualName`, and the hash of its source file, empty where it has none."""

    cls: str
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class TurnResult:
    """What one turn came to.

    `answer` is the model's final text, empty unless the model gave one; when the outcome is `NO_ANSWER` it may
    hold the cut-off text. `error` is one sentence for a person, `None` on success. `cost` is in US dollars, `None`
    where a reply had no known price. `saved` is false when the end of the turn could not be written to the store.
    `lineup` is by role; turns with one `graph_hash` ran the same graph. Both are empty in a result of an older version.
    """

    outcome: Outcome
    turn_id: str
    session_id: str
    request_id: str
    flow: str
    model: str
    answer: str
    error: str | None
    iterations: int
    usage: RunUsage
    cost: Decimal | None
    duration_ms: int
    edited_files: tuple[str, ...]
    saved: bool = True
    lineup: Mapping[str, Played] = field(default_factory=dict[str, Played])
    graph_hash: str = ""
