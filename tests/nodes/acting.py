"""A model that plays a script, a log that can fail, and the state and deps of a turn for tests of single nodes."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from pydantic_ai.messages import FinishReason, ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, FunctionToolset
from turngraph.flows.flow import STANDARD
from turngraph.flows.sinks import MemorySink
from turngraph.nodes.deps import Limits, TurnDeps, Visit
from turngraph.nodes.errors import ProviderError, StoreError
from turngraph.nodes.events import Sink
from turngraph.nodes.model_port import ModelPort
from turngraph.nodes.node import Ctx
from turngraph.nodes.outcome import TurnResult
from turngraph.nodes.slots import Slot
from turngraph.nodes.state import RequestContext, TurnState
from turngraph.nodes.toolbox import Toolbox
from turngraph.tools.effects import Effect, declare
from turngraph.tools.policy import Auto, Policy

Delta = str | dict[int, DeltaToolCall] | dict[int, DeltaThinkingPart] | Exception | Callable[[], Awaitable[Any]]
NOON = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def call(name: str, index: int = 1, call_id: str | None = None, /, **args: Any) -> dict[int, DeltaToolCall]:
    return raw_call(name, json.dumps(args), index, call_id)


def raw_call(name: str, args: str, index: int = 1, call_id: str | None = None) -> dict[int, DeltaToolCall]:
    return {index: DeltaToolCall(name=name, json_args=args, tool_call_id=call_id)}


def thought(text: str, signature: str | None = None) -> dict[int, DeltaThinkingPart]:
    return {0: DeltaThinkingPart(content=text, signature=signature)}


class Actor(FunctionModel):
    """Plays one reply a request, `Done.` after the last, and keeps what it was asked.

    A reply is its deltas in order; an exception among them is raised, a function is awaited.
    """

    def __init__(self, *replies: Sequence[Delta], finish_reason: FinishReason | None = None) -> None:
        super().__init__(stream_function=self._play, model_name="actor")
        self.requests: list[list[ModelMessage]] = []
        self.infos: list[AgentInfo] = []
        self.prepared = 0
        self._replies = iter(replies)
        self._finish_reason: FinishReason | None = finish_reason

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        self.prepared += len(messages)
        return super().prepare_messages(messages, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        stream = super().request_stream(messages, model_settings, model_request_parameters, run_context)
        async with stream as response:
            response.finish_reason = self._finish_reason
            yield response

    async def _play(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self.requests.append(list(messages))
        self.infos.append(info)
        reply = next(self._replies, ["Done."])
        if not any(isinstance(delta, str | dict) for delta in reply):
            yield ""
        for delta in reply:
            if isinstance(delta, Exception):
                raise delta
            if isinstance(delta, str | dict):
                yield delta
            else:
                await delta()


class Ledger:
    """A turn's log in memory; `fails` says which write, counted from 1, raises `StoreError`."""

    def __init__(self, fails: Callable[[int], bool] = lambda number: False) -> None:
        self.rows: list[tuple[str, Any]] = []
        self.writes = 0
        self._fails = fails

    def message(self, message: ModelMessage, *, replaces: int | None = None) -> int:
        return self._write("message", (message, replaces))

    def failure(self, error: ProviderError) -> int:
        return self._write("failure", str(error))

    def intent(self, iteration: int, slot: Slot) -> None:
        self._write("intent", slot.position)

    def result(self, iteration: int, slot: Slot) -> int:
        return self._write("result", (slot.position, slot.status))

    def repair(self, description: str) -> int:
        return self._write("repair", description)

    def prune(self, whole: int) -> int:
        return self._write("prune", whole)

    def compact(self, summary: int, kept: int) -> int:
        return self._write("compact", (summary, kept))

    def visit(self, visit: Visit, changed: Mapping[str, Any]) -> None:
        self._write("visit", (visit, changed))

    def seal(self, iteration: int, messages: Sequence[int | Sequence[int]]) -> int:
        return self._write("seal", (iteration, list(messages)))

    def end(self, result: TurnResult) -> int:
        return self._write("end", result)

    def of(self, kind: str) -> list[Any]:
        return [what for found, what in self.rows if found == kind]

    def _write(self, kind: str, what: Any) -> int:
        self.writes += 1
        if self._fails(self.writes):
            raise StoreError("the disk is full")
        self.rows.append((kind, what))
        return len(self.rows)


class FixedClock:
    """Noon, for ever; the count of milliseconds goes up by one each time it is asked."""

    def __init__(self) -> None:
        self._ms = 0.0

    def now(self) -> datetime:
        return NOON

    def ms(self) -> float:
        self._ms += 1
        return self._ms


class Scene:
    """One turn's state and deps, for a node to be played in."""

    def __init__(
        self,
        model: Actor | None = None,
        *toolsets: AbstractToolset[Any],
        policy: Policy | None = None,
        limits: Limits | None = None,
        ledger: Ledger | None = None,
        sink: Sink | None = None,
        debug: bool = False,
        max_iterations: int = 15,
        instructions: str = "",
    ) -> None:
        limits = limits or Limits()
        self.model = model or Actor()
        self.memory = MemorySink()
        self.ledger = ledger or Ledger()
        self.state = TurnState(
            turn_id="t" * 32,
            session_id="s" * 12,
            flow="standard",
            prompt="work",
            started_at=NOON,
            request=RequestContext("r" * 8, max_iterations, debug),
        )
        self.deps = TurnDeps(
            model=ModelPort(self.model, instructions=instructions, max_tokens=limits.max_tokens),
            toolbox=Toolbox(CombinedToolset(list(toolsets)), self.model, None),
            policy=policy or Auto(),
            sink=sink or self.memory,
            log=self.ledger,
            clock=FixedClock(),
            limits=limits,
            lineup=STANDARD.lineup,
        )
        self.ctx = Ctx(state=self.state, deps=self.deps)

    def replied(self, reply: ModelResponse) -> None:
        """Put a reply where the nodes after `ProcessNode` find it."""
        self.state.iteration += 1
        self.state.reply = reply
        self.state.reply_row = self.ledger.message(reply)

    def register(self, *calls: ToolCallPart, effect: Effect = Effect.EXECUTE) -> list[Slot]:
        slots = [self.state.session.tool_registry.register(one) for one in calls]
        for slot in slots:
            slot.effect = effect
        return slots


def reading(*functions: Callable[..., Any]) -> FunctionToolset[Any]:
    return FunctionToolset[Any](list(functions), metadata=declare(Effect.READ_ONLY))


def writing(*functions: Callable[..., Any]) -> FunctionToolset[Any]:
    return FunctionToolset[Any](list(functions), metadata=declare(Effect.WRITE))
