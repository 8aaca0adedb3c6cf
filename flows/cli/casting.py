"""Who plays in a turn: the model, the flow with its swaps, the tools, or an existing agent with its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
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
from .options import CacheMode

if TYPE_CHECKING:
    from pydantic_ai import Agent

    from ..swap import Models


@dataclass(frozen=True)
class Cast:
    """What a turn is run with; `differences` from the standard flow and `notices` are said at its beginning."""

    model: Model
    flow: Flow
    toolsets: Sequence[AbstractToolset[Any]]
    differences: Sequence[str]
    notices: Sequence[str] = ()
    offline: bool = False


@asynccontextmanager
async def casting(
    asked: Asked, workdir: Path, model_cache: tuple[CacheMode, Path] | None = None
) -> AsyncGenerator[Cast]:
    """The cast of a turn; an agent is open as long as this is.

    Raises:
        UsageError: a model, flow, swap, cache or agent that cannot be, or an agent that does not open.
    """
    flow = flow_of(asked, partial(create_model, base_url=asked.base_url, root=workdir))
    if asked.agent is None:
        model = create_model(asked.model or OFFLINE, base_url=asked.base_url, root=workdir)
        model, notices = _cached(model, model_cache)
        toolset = workspace_toolset(workdir)
        yield Cast(model, flow, [toolset], differences_of(flow), notices, asked.model in (None, OFFLINE))
        return
    from ..named import find_agent, through_agent

    agent = find_agent(asked.agent)
    flow = through_agent(flow, agent)
    model, notices = _cached(_model_of(agent, asked, workdir), model_cache)
    async with opened(f"the agent {asked.agent}", agent):
        yield Cast(model, flow, [], differences_of(flow), notices)


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


def _cached(model: Model, cache: tuple[CacheMode, Path] | None) -> tuple[Model, list[str]]:
    if cache is None:
        return model, []
    from ..model_cache.wrapper import CachedModel

    cached = CachedModel(model, *cache)
    skipped = [f"{cached.skipped} damaged lines of {cache[1]} are left out"] if cached.skipped else []
    return cached, skipped
