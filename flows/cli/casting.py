"""Who plays in a turn: the model, the flow with its swaps, the tools, or an existing agent with its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset

from ...nodes.errors import UsageError
from ...tools.toolset import workspace_toolset
from ..asked import Asked
from ..flow import STANDARD, Flow
from ..models import OFFLINE, create_model
from ..opened import opened

if TYPE_CHECKING:
    from pydantic_ai import Agent

    from ..swap import Models


@dataclass(frozen=True)
class Cast:
    """What a turn is run with; the `differences` from the standard flow are said at its beginning."""

    model: Model
    flow: Flow
    toolsets: Sequence[AbstractToolset[Any]]
    differences: Sequence[str]
    offline: bool = False


@asynccontextmanager
async def casting(
    asked: Asked,
    workdir: Path,
    wrap: Callable[[Model], Model] = lambda model: model,
) -> AsyncGenerator[Cast]:
    """The cast of a turn; an agent is open as long as this is. `wrap` is put around each model.

    Raises:
        UsageError: a model, flow, swap or agent that cannot be, or an agent that does not open.
    """

    def made(spec: str) -> Model:
        return wrap(create_model(spec, base_url=asked.base_url, root=workdir))

    flow = flow_of(asked, made)
    if asked.agent is None:
        model = made(asked.model or OFFLINE)
        toolset = workspace_toolset(workdir)
        yield Cast(model, flow, [toolset], differences_of(flow), asked.model in (None, OFFLINE))
        return
    from ..named import find_agent, through_agent

    agent = find_agent(asked.agent)
    flow = through_agent(flow, agent)
    model = wrap(_model_of(agent, asked, workdir))
    async with opened(f"the agent {asked.agent}", agent):
        yield Cast(wrap(model), flow, [], differences_of(flow))


def flow_of(asked: Asked, models: Models) -> Flow:
    """The flow that was asked for; its rules are not checked yet.

    Raises:
        UsageError: as `choose_flow`.
    """
    if asked.flow == STANDARD.name and not asked.swaps:
        return STANDARD
    from ..named import choose_flow

    return choose_flow(asked.flow, asked.flows, asked.swaps, models=models)


def differences_of(flow: Flow) -> list[str]:
    """How a flow differs from the standard one, in the words of `turngraph graph diff`."""
    if flow is STANDARD:
        return []
    from ...graphs.extract import extract
    from .differences import as_text

    _, *lines = as_text(extract(STANDARD), extract(flow)).splitlines()
    return [" ".join(line.split()) for line in lines]


def _model_of(agent: Agent[Any, Any], asked: Asked, workdir: Path) -> Model:
    """The model that was asked for, or the agent's own."""
    if asked.model is not None:
        return create_model(asked.model, base_url=asked.base_url, root=workdir)
    if isinstance(agent.model, Model):
        return agent.model
    if agent.model is None:
        raise UsageError(f"the agent {asked.agent} has no model; give it one, or --model")
    return create_model(agent.model)
