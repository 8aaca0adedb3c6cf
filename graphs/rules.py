"""What every flow must keep, checked on its graph before a model is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import networkx as nx

from ..nodes.errors import UsageError
from ..nodes.state import StateMachine
from .declared import END
from .extract import START, Drawable, FlowGraph, extract

PERSIST = "persist"


@dataclass(frozen=True)
class Violation:
    """A broken rule: its name, what is wrong with which nodes, and how to mend it."""

    rule: str
    message: str
    hint: str


def unreachable(graph: FlowGraph) -> Iterator[Violation]:
    """Every node can be reached from the start."""
    reached = _reachable(graph, START)
    for role in _roles(graph):
        if role not in reached:
            yield Violation("unreachable", f"nothing leads to {role}", f"let a node go on to {role}, or drop it")


def no_way_out(graph: FlowGraph) -> Iterator[Violation]:
    """From every node the turn can end."""
    ending = _reachable(graph.reverse(copy=False), END)
    for role in _roles(graph):
        if role not in ending:
            yield Violation("no_way_out", f"from {role} the turn can never end", "add a way that leads to End")


def unbounded_cycle(graph: FlowGraph) -> Iterator[Violation]:
    """Every cycle passes `persist`, where the budgets are checked."""
    guarded = graph.subgraph(node for node in graph if node != PERSIST)
    components = cast(Iterator[set[str]], nx.strongly_connected_components(guarded))
    for component in components:
        first = next(iter(component))
        if len(component) > 1 or guarded.has_edge(first, first):
            nodes = " and ".join(sorted(component))
            yield Violation(
                "unbounded_cycle",
                f"{nodes} can go round without passing {PERSIST}",
                f"let the cycle pass {PERSIST}",
            )


def unsealed_end(graph: FlowGraph) -> Iterator[Violation]:
    """A turn ends in `persist` only."""
    for role in _roles(graph):
        if role != PERSIST and graph.has_edge(role, END):
            yield Violation("unsealed_end", f"{role} ends the turn unsealed", f"go on to {PERSIST} instead of End")


def illegal_state(graph: FlowGraph) -> Iterator[Violation]:
    """Every edge is one that the flow's state machine allows."""
    machine: StateMachine = graph.graph["machine"]
    for source, target in dict.fromkeys(graph.edges()):
        before = machine.initial if source == START else graph.nodes[source]["state"]
        after = graph.nodes[target]["state"]
        if after is not None and not machine.allows(before, after):
            yield Violation(
                "illegal_state",
                f"{source} ({before}) goes on to {target} ({after}), which the state machine does not allow",
                "give the flow a state machine with that transition, or take another way",
            )


RULES: tuple[Callable[[FlowGraph], Iterator[Violation]], ...] = (
    unreachable,
    no_way_out,
    unbounded_cycle,
    unsealed_end,
    illegal_state,
)


def violations(graph: FlowGraph) -> list[Violation]:
    """All broken rules, in the order of `RULES`."""
    return [violation for rule in RULES for violation in rule(graph)]


def check(flow: Drawable) -> None:
    """Refuse a flow that breaks a rule.

    Raises:
        UsageError: names every broken rule, the nodes, and the mend.
    """
    broken = violations(extract(flow))
    if broken:
        said = "; ".join(f"{one.rule}: {one.message} ({one.hint})" for one in broken)
        raise UsageError(f"the flow {flow.name} breaks {len(broken)} rule(s): {said}")


def _roles(graph: FlowGraph) -> list[str]:
    return [node for node in graph.nodes if node not in (START, END)]


def _reachable(graph: FlowGraph, source: str) -> set[str]:
    return {source, *nx.descendants(graph, source)}  # pyright: ignore[reportUnknownMemberType]
