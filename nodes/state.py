"""The turn's state: plain data, the only mutable thing of a turn, serialisable whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.usage import RunUsage

from .slots import ToolCallRegistry


class AgentState(StrEnum):
    """The states a turn goes through."""

    USER_INPUT = "user_input"
    ASSISTANT = "assistant"
    TOOL_EXECUTION = "tool_execution"
    RESPONSE = "response"


@dataclass(frozen=True)
class StateMachine:
    """Which state may follow which; staying in a state is always allowed."""

    initial: str
    transitions: Mapping[str, frozenset[str]]

    def allows(self, current: str, following: str) -> bool:
        return current == following or following in self.transitions.get(current, frozenset())


AGENT_STATE_MACHINE = StateMachine(
    initial=AgentState.USER_INPUT,
    transitions={
        AgentState.USER_INPUT: frozenset({AgentState.ASSISTANT}),
        AgentState.ASSISTANT: frozenset({AgentState.TOOL_EXECUTION, AgentState.RESPONSE}),
        AgentState.TOOL_EXECUTION: frozenset({AgentState.RESPONSE}),
        AgentState.RESPONSE: frozenset({AgentState.ASSISTANT}),
    },
)


@dataclass(frozen=True)
class RequestContext:
    """What identifies and bounds one request.

    `request_id` is the first 8 characters of a UUID; `max_iterations` counts model requests; `debug_metrics` turns
    the detailed log on.
    """

    request_id: str
    max_iterations: int = 15
    debug_metrics: bool = False


@dataclass
class SessionState:
    """The conversation: its messages as they were said, thoughts kept beside them, and the current reply's calls."""

    messages: list[ModelMessage] = field(default_factory=list[ModelMessage])
    thoughts: list[str] = field(default_factory=list[str])
    tool_registry: ToolCallRegistry = field(default_factory=ToolCallRegistry)


@dataclass(kw_only=True)
class TurnState:
    """Everything one turn knows. Nodes read and write it; nothing else is mutable.

    `reply` is the model's answer while its iteration is open; `reply_row` and `unsealed` are ids of rows in the
    store that no seal covers yet, and `history_row` is the row that says how the history was rewritten last.
    `batches` holds positions of slots: batches run one after another, the calls of one batch side by side.
    `guidance` is said to the model once, with the next request, and is not kept. `retries` counts, by tool name,
    calls in a row whose arguments or result asked the model to try again. `offered` are the names of the tools that
    the model can call in this iteration, by their effect.
    """

    turn_id: str
    session_id: str
    flow: str
    prompt: str
    started_at: datetime
    request: RequestContext
    agent_state: str = AgentState.USER_INPUT
    session: SessionState = field(default_factory=SessionState)
    iteration: int = 0
    reply: ModelResponse | None = None
    reply_row: int | None = None
    unsealed: list[int] = field(default_factory=list[int])
    history_row: int | None = None
    batches: list[list[int]] = field(default_factory=list[list[int]])
    guidance: str | None = None
    unusable_replies: int = 0
    retries: dict[str, int] = field(default_factory=dict[str, int])
    offered: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    usage: RunUsage = field(default_factory=RunUsage)
    cost: Decimal | None = Decimal(0)
    answer: str = ""
    task_completed: bool = False
    refused: bool = False
    edited_files: list[str] = field(default_factory=list[str])
    started_ms: float = 0.0
