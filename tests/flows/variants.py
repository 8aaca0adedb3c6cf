"""The standard flow, and the flow with each variant that is here in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.toolsets import AbstractToolset
from turngraph.flows.flow import STANDARD, Flow
from turngraph.flows.named import through_agent
from turngraph.flows.testing.model import ScriptedModel
from turngraph.flows.testing.scripts import tools
from turngraph.nodes.variants.best_of import best_of
from turngraph.nodes.variants.cascade import cascade
from turngraph.nodes.variants.critic import Critic
from turngraph.nodes.variants.dry_run import DryRunExecute
from turngraph.nodes.variants.serial import SerialExecute
from turngraph.nodes.variants.window import window


def through_an_agent() -> Flow:
    """Its tools are those of the scripts, so that a turn is given none."""
    return through_agent(STANDARD, Agent(toolsets=[tools()], name="scripted"))


VARIANTS: dict[str, Callable[[], Flow]] = {
    "standard": lambda: STANDARD,
    "window": lambda: STANDARD.swap(window(1)),
    "best of two": lambda: STANDARD.swap(best_of(2)),
    "cascade": lambda: STANDARD.swap(cascade(ScriptedModel("", "It is...", "Fine."))),
    "critic": lambda: STANDARD.swap(Critic),
    "serial": lambda: STANDARD.swap(SerialExecute),
    "dry run": lambda: STANDARD.swap(DryRunExecute),
    "agent": through_an_agent,
}


def tools_beside(variant: str) -> list[AbstractToolset[Any]]:
    return [] if variant == "agent" else [tools()]
