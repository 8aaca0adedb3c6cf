"""What a turn runs with besides its flow and its log: opened around it, and closed again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset

from ..nodes.deps import Clock, Limits, NothingKnown, Past, TurnDeps, TurnLog
from ..nodes.errors import SinkError, TurngraphError
from ..nodes.events import Event, Sink
from ..nodes.model_port import ModelPort
from ..nodes.toolbox import Toolbox
from ..tools.policy import Policy
from .clock import SystemClock
from .flow import STANDARD, Flow
from .models import create_model
from .opened import opened
from .sinks import NullSink


@dataclass(frozen=True, kw_only=True)
class Equipment:
    """An open model and toolset, and what bounds and watches them."""

    model: Model
    toolset: AbstractToolset[Any]
    port: ModelPort
    policy: Policy
    sink: Sink
    limits: Limits
    clock: Clock
    tool_deps: Any

    def deps(self, flow: Flow, log: TurnLog, past: Past | None = None) -> TurnDeps:
        return TurnDeps(
            model=self.port,
            toolbox=Toolbox(self.toolset, self.model, self.tool_deps),
            policy=self.policy,
            sink=_TypedSink(self.sink),
            log=log,
            clock=self.clock,
            limits=self.limits,
            lineup=flow.lineup,
            past=past or NothingKnown(),
            tool_deps=self.tool_deps,
        )


@asynccontextmanager
async def equipped(
    model: Model | str,
    toolsets: Sequence[AbstractToolset[Any]],
    *,
    policy: Policy,
    limits: Limits,
    instructions: str,
    sink: Sink | None = None,
    tool_deps: Any = None,
) -> AsyncGenerator[Equipment]:
    """Open a model and toolsets.

    Raises:
        UsageError: a model that cannot be, or a model or toolset that does not open.
    """
    model = create_model(model) if isinstance(model, str) else model
    port = ModelPort(
        model, instructions=instructions, max_tokens=limits.max_tokens, context_window=limits.context_window
    )
    async with (
        opened("the model", model),
        opened("a toolset", CombinedToolset(list(toolsets))) as toolset,
    ):
        yield Equipment(
            model=model,
            toolset=toolset,
            port=port,
            policy=policy,
            sink=sink or NullSink(),
            limits=limits,
            clock=SystemClock(),
            tool_deps=tool_deps,
        )


def check_flow(flow: Flow) -> None:
    """Refuse a flow that breaks the rules; the standard one is checked by the tests, which spares its start-up.

    Raises:
        UsageError: the flow breaks a rule.
    """
    if flow is not STANDARD:
        from ..graphs.rules import check

        check(flow)


class _TypedSink:
    """A sink whose failures cannot be taken for a model's or a tool's."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def emit(self, event: Event) -> None:
        try:
            await self._sink.emit(event)
        except TurngraphError:
            raise
        except Exception as error:
            raise SinkError(f"the output could not be written ({type(error).__name__}: {error})") from error
