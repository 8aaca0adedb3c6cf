"""The request that a turn would begin with; nothing is asked, and nothing is stored."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset

from ..nodes.deps import Limits, Visit
from ..nodes.errors import ProviderError, TurngraphError, UsageError
from ..nodes.events import Notice
from ..nodes.fitting import INSTRUCTIONS as OF_A_SUMMARY
from ..nodes.outcome import TurnResult
from ..nodes.slots import Slot
from ..nodes.state import RequestContext, SessionState, TurnState
from ..tools.policy import Auto
from .drive import drive
from .equipment import check_flow, equipped
from .flow import STANDARD, Flow
from .interrupt import Interrupt
from .sinks import MemorySink

_ENDLESS = 10**12


@dataclass(frozen=True)
class Preview:
    """A request as the model's adapter gets it. `notices` say what was mended, cleared, or would be summarised."""

    model: str
    settings: Mapping[str, Any]
    instructions: str
    tools: Sequence[ToolDefinition]
    messages: Sequence[ModelMessage]
    notices: Sequence[str]


class NotAsked(TurngraphError):
    """A request was about to be made."""


class Unasked(WrapperModel):
    """Keeps the first request that is made of any of the models that share its list, and answers none."""

    def __init__(self, wrapped: Model, requests: list[Preview]) -> None:
        super().__init__(wrapped)
        self._requests = requests

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> Any:
        raise self._kept(messages, model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        raise self._kept(messages, model_settings, model_request_parameters)
        yield

    def _kept(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> NotAsked:
        instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ())
        name = f"{self.system}:{self.model_name}" if self.system else self.model_name
        tools = parameters.function_tools
        self._requests.append(Preview(name, dict(settings or {}), instructions, tools, list(messages), ()))
        return NotAsked("the model is not asked in a preview")


async def preview(
    prompt: str,
    history: Sequence[ModelMessage],
    requests: list[Preview],
    *,
    model: Model,
    toolsets: Sequence[AbstractToolset[Any]] = (),
    flow: Flow = STANDARD,
    limits: Limits | None = None,
    instructions: str = "",
    session: str = "",
) -> Preview:
    """The first request of a turn with this prompt after a history.

    A summary that the history needs to fit the model would ask the model itself: it is said and not made.

    Args:
        requests: the empty list that `model`, and all other models of the flow, were made with as `Unasked`.
        others: as `run_turn`.

    Raises:
        UsageError: the turn would end before it asked, or as `run_turn`.
    """
    check_flow(flow)
    limits, notices = limits or Limits(), list[str]()
    while True:
        sink = MemorySink()
        turn_id = uuid.uuid4().hex
        async with equipped(
            model, toolsets, policy=Auto(), limits=limits, instructions=instructions, sink=sink
        ) as equipment:
            state = TurnState(
                turn_id=turn_id,
                session_id=session,
                flow=flow.name,
                prompt=prompt,
                started_at=equipment.clock.now(),
                request=RequestContext(turn_id[:8], limits.max_iterations),
                agent_state=flow.machine.initial,
                session=SessionState(messages=list(history)),
            )
            result = await drive(flow, state, equipment.deps(flow, _Scratch()), Interrupt())
        if not requests:
            raise UsageError(f"the turn would end before it asks the model: {result.error or result.outcome}")
        if requests[0].instructions != OF_A_SUMMARY:
            notices += [event.text for event in sink.events if isinstance(event, Notice)]
            return replace(requests[0], notices=notices)
        notices.append("the history is too large for the model, which would be asked for a summary of its older part")
        requests.clear()
        limits = replace(limits, context_window=_ENDLESS)


class _Scratch:
    """The log of a turn that nobody keeps: it gives rows their numbers."""

    def __init__(self) -> None:
        self._rows = count(1)

    def message(self, message: ModelMessage, *, replaces: int | None = None) -> int:
        return next(self._rows)

    def failure(self, error: ProviderError) -> int:
        return next(self._rows)

    def intent(self, iteration: int, slot: Slot) -> None:
        return

    def result(self, iteration: int, slot: Slot) -> int:
        return next(self._rows)

    def repair(self, description: str) -> int:
        return next(self._rows)

    def prune(self, whole: int) -> int:
        return next(self._rows)

    def compact(self, summary: int, kept: int) -> int:
        return next(self._rows)

    def visit(self, visit: Visit, changed: Mapping[str, Any]) -> None:
        return

    def seal(self, iteration: int, messages: Sequence[int | Sequence[int]]) -> int:
        return next(self._rows)

    def end(self, result: TurnResult) -> int:
        return next(self._rows)
