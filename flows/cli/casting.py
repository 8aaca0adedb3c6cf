"""Who plays in a run: the model, the flow with its swaps, the tools, or an existing agent with its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset

from ...nodes.errors import UsageError
from ...tools.toolset import workspace_toolset
from ..flow import STANDARD, Flow
from ..models import OFFLINE, create_model
from ..opened import opened
from ..prompt import system_prompt
from ..settings import Resolved, Settings
from .run import RunOptions

if TYPE_CHECKING:
    from pydantic_ai import Agent


@dataclass(frozen=True)
class Cast:
    """What a turn is run with; `differences` from the standard flow and `notices` are said at its beginning."""

    model: Model
    flow: Flow
    toolsets: Sequence[AbstractToolset[Any]]
    instructions: str
    differences: Sequence[str]
    notices: Sequence[str]
    offline: bool = False


@asynccontextmanager
async def casting(options: RunOptions, resolved: Resolved) -> AsyncGenerator[Cast]:
    """The cast of a run; an agent is open as long as this is.

    Raises:
        UsageError: a model, flow, swap or agent that cannot be, or an agent that does not open.
    """
    settings = resolved.settings
    flow = _flow(options, settings)
    if options.agent is None:
        model = create_model(settings.model, base_url=settings.base_url, root=options.workdir)
        prompt = system_prompt(options.workdir)
        toolset = workspace_toolset(options.workdir)
        yield Cast(model, flow, [toolset], prompt.text, _differences(flow), prompt.notices, settings.model == OFFLINE)
        return
    from ..named import find_agent, through_agent

    agent = find_agent(options.agent)
    flow = through_agent(flow, agent)
    model = _model_of(agent, options, resolved)
    async with opened(f"the agent {options.agent}", agent):
        yield Cast(model, flow, [], "", _differences(flow), [])


def _flow(options: RunOptions, settings: Settings) -> Flow:
    if settings.flow == STANDARD.name and not options.swap:
        return STANDARD
    from ..named import choose_flow

    named = {name: one.swap for name, one in settings.flows.items()}
    models = partial(create_model, base_url=settings.base_url, root=options.workdir)
    return choose_flow(settings.flow, named, options.swap, models=models)


def _model_of(agent: Agent[Any, Any], options: RunOptions, resolved: Resolved) -> Model:
    """The model that is configured, or the agent's own."""
    settings = resolved.settings
    if resolved.each["model"].origin.kind != "default":
        return create_model(settings.model, base_url=settings.base_url, root=options.workdir)
    if isinstance(agent.model, Model):
        return agent.model
    if agent.model is None:
        raise UsageError(f"the agent {options.agent} has no model; give it one, or --model")
    return create_model(agent.model)


def _differences(flow: Flow) -> list[str]:
    """How the flow differs from the standard one, in the words of `turngraph graph diff`."""
    if flow is STANDARD:
        return []
    from ...graphs.extract import extract
    from .differences import as_text

    _, *lines = as_text(extract(STANDARD), extract(flow)).splitlines()
    return [" ".join(line.split()) for line in lines]
