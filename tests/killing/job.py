"""What a process of these tests is told to do, and what it says about it; both go as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Job:
    """One turn to begin or to resume in a process of its own, struck by `then` at the n-th passing of the point `at`.

    With `argv` it is a command line with `env`; else `turn` is resumed, or the `prompt` begins one in `session`. What
    its tools do goes to the file `effects` of `folder`, and the report to the file `report`. `lease` is in seconds;
    with `uid` the process belongs to that user.
    """

    folder: str
    store: str
    base_url: str
    report: str
    session: str | None = None
    prompt: str = "Do the work."
    turn: str | None = None
    max_iterations: int = 15
    argv: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    lease: float = 30
    at: str = ""
    nth: int = 1
    then: str = "SIGKILL"
    uid: int | None = None

    @property
    def effects(self) -> Path:
        return Path(self.folder) / "effects"


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a turn ended for its process: with a result, or before it began with an error.

    `passed` counts the points on the way, and `warnings` are the notices for a person.
    """

    outcome: str
    error: str | None
    answer: str = ""
    iterations: int = 0
    usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    edited_files: Sequence[str] = ()
    saved: bool = False
    passed: Mapping[str, int] = field(default_factory=dict[str, int])
    warnings: Sequence[str] = ()

    def came_to(self, unknown: int = 0) -> tuple[Any, ...]:
        """What two runs of one turn must agree in; a call with an unknown outcome counts as one that was made."""
        usage = dict(self.usage) | {"tool_calls": self.usage.get("tool_calls", 0) + unknown}
        return self.outcome, self.error, self.answer, self.iterations, usage
