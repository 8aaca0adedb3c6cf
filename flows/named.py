"""The flow of one run: a name from the settings, the swaps typed beside it, or an existing agent to go through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from ..nodes.errors import UsageError
from .flow import STANDARD, Flow
from .loading import is_place, load, split_place
from .models import create_model
from .swap import Models, apply_swaps

if TYPE_CHECKING:
    from pydantic_ai import Agent


def choose_flow(
    name: str, named: Mapping[str, Sequence[str]], swaps: Sequence[str] = (), *, models: Models = create_model
) -> Flow:
    """The flow of a name, with more swaps made; its rules are not checked yet.

    `named` holds the swaps of each flow that the settings name; a swap given here wins over one of them.

    Raises:
        UsageError: there is no flow of that name, or as `apply_swaps`.
    """
    if name == STANDARD.name:
        flow = STANDARD
    elif name in named:
        flow = replace(apply_swaps(STANDARD, named[name], models=models), name=name)
    else:
        known = ", ".join([STANDARD.name, *named])
        raise UsageError(
            f"there is no flow {name!r}; there are {known}, and settings name more: [flows.NAME] swap = []"
        )
    return apply_swaps(flow, swaps, models=models)


def find_agent(text: str) -> Agent[Any, Any]:
    """The pydantic-ai agent that `module:name` or `path/to/file.py:name` holds.

    Raises:
        UsageError: as `loading.load`, or it is no agent.
    """
    from pydantic_ai import Agent

    if not is_place(text):
        raise UsageError(f"{text!r} is no place of an agent; write module:name, or path/to/file.py:name")
    module, name, rest = split_place(text)
    found = load(module, name if rest is None else f"{name}:{rest}")
    if not isinstance(found, Agent):
        raise UsageError(f"{text} is no pydantic-ai Agent but {type(found).__name__}; name the agent itself")
    return cast("Agent[Any, Any]", found)


def through_agent(flow: Flow, agent: Agent[Any, Any]) -> Flow:
    """The flow with the nodes in it that run a turn through an agent.

    Raises:
        UsageError: one of their roles is swapped already.
    """
    from ..nodes.variants.agent import agent_nodes

    for node in agent_nodes(agent):
        if node.role in flow.swapped:
            raise UsageError(f"an agent plays the role {node.role}, which is swapped too; leave out one of the two")
        flow = flow.swap(node)
    return flow
