"""The effects of a turn, behind one frozen value: nodes reach the world through it and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolReturnPart

from ..tools.policy import Policy
from ..tools.secret import Secrets, environment_secrets
from .errors import ProviderError, UsageError
from .events import Sink
from .outcome import TurnResult
from .slots import CallStatus, Slot
from .state import TurnState

if TYPE_CHECKING:
    from .model_port import ModelPort
    from .node import TurnNode
    from .toolbox import Toolbox


@dataclass(frozen=True)
class Visit:
    """One visit of a node, as the runner saw it. `cls` is the class that ran, as `module:QualName`."""

    number: int
    role: str
    cls: str
    iteration: int
    to: str | None
    duration_ms: float
    error: str | None = None


class TurnLog(Protocol):
    """Where one turn writes what happened: append-only, each fact once, when it is known.

    Methods that return a row's id have made the row safe by then; all raise `StoreError`.
    Only what a seal names is visible to later turns.
    """

    def message(self, message: ModelMessage, *, replaces: int | None = None) -> int:
        """Write a message, unsealed. `replaces` names the row of a message that this one supersedes."""
        ...

    def failure(self, error: ProviderError) -> int:
        """Write that a model request failed."""
        ...

    def intent(self, iteration: int, slot: Slot) -> None:
        """Write that a call is about to run; safe when it returns, unless the call only reads."""
        ...

    def result(self, iteration: int, slot: Slot) -> int:
        """Write a filled slot."""
        ...

    def repair(self, description: str) -> int:
        """Write what was mended in the loaded history."""
        ...

    def prune(self, whole: int) -> int:
        """Write that from here on only the last `whole` replies of the history keep the results of their calls."""
        ...

    def compact(self, summary: int, kept: int) -> int:
        """Write that from here on the history is a summary, the message of that row, and its last `kept` replies."""
        ...

    def visit(self, visit: Visit, changed: Mapping[str, Any]) -> None:
        """Write a node's visit and what it changed in the state, as plain JSON; safe with the next row that is."""
        ...

    def seal(self, iteration: int, messages: Sequence[int | Sequence[int]]) -> int:
        """Make messages visible, all or none. An item is a message's row, or the rows of the results of one request."""
        ...

    def end(self, result: TurnResult) -> int:
        """Write how the turn ended; durable against power loss when it returns."""
        ...


@dataclass(frozen=True)
class KnownCall:
    """What an earlier run of this node came to with a call.

    `ran` is false for a call that was answered without running: refused, or not valid. `part` is `None`, and `row`
    too, where the call was under way and nobody knows how it ended.
    """

    status: CallStatus
    ran: bool
    part: ToolReturnPart | None
    row: int | None
    duration_ms: int = 0
    edited: tuple[str, ...] = ()


class Past(Protocol):
    """What the journal already knows of the node that runs: of a turn that is resumed, or replayed."""

    def reply(self, state: TurnState) -> tuple[ModelResponse, int] | None:
        """The next reply that was received there, and its row; `None` where the model must be asked.

        Raises:
            ProviderError: a replay has come to a request that failed.
        """
        ...

    def call(self, state: TurnState, slot: Slot) -> KnownCall | None:
        """How a call ended there; `None` where it never began, or only read and can begin again."""
        ...


class NothingKnown:
    """The past of a turn that runs for the first time."""

    def reply(self, state: TurnState) -> None:
        return None

    def call(self, state: TurnState, slot: Slot) -> None:
        return None


@dataclass(frozen=True)
class Limits:
    """The budgets of one turn; `None` is no limit.

    `max_iterations` counts model requests and `max_tokens` caps one answer; `max_total_tokens` counts input and
    output of the whole turn, `max_cost` is in US dollars and `timeout` in seconds. `context_window` is what the model
    takes in at once, in tokens; by default what is known of the model.
    """

    max_iterations: int = 15
    max_tokens: int | None = None
    max_total_tokens: int | None = None
    max_cost: Decimal | None = None
    timeout: float | None = None
    context_window: int | None = None

    def __post_init__(self) -> None:
        """Refuse a turn that could not make one request.

        Raises:
            UsageError: `max_iterations` is less than 1.
        """
        if self.max_iterations < 1:
            raise UsageError(f"max_iterations is {self.max_iterations}; a turn needs at least 1 model request")


class Clock(Protocol):
    """Time: `now` is the wall clock with its zone, `ms` a monotonic count of milliseconds."""

    def now(self) -> datetime: ...

    def ms(self) -> float: ...


@dataclass(frozen=True, kw_only=True)
class TurnDeps:
    """Everything a node may call.

    `past` is what the journal knows already, `secrets` what nobody may see, and `tool_deps` what pydantic-ai toolsets
    see as their `RunContext.deps`.
    """

    model: ModelPort
    toolbox: Toolbox
    policy: Policy
    sink: Sink
    log: TurnLog
    clock: Clock
    limits: Limits
    lineup: Mapping[str, type[TurnNode]]
    past: Past = field(default_factory=NothingKnown)
    secrets: Secrets = field(default_factory=environment_secrets, repr=False)
    tool_deps: Any = field(default=None, repr=False)
