"""What every graph must keep, checked before a model is called.

Rules about states, `persist` and labels are for flows; the others hold for any graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

import networkx as nx

from ..nodes.errors import UsageError
from ..nodes.persist import Persist
from ..nodes.state import AgentState, StateMachine
from ..tools.wording import count
from .declarations import misdeclared
from .declared import END, START
from .extract import Drawable, FlowGraph, extract, inner_nodes
from .violation import Violation

PERSIST = Persist.role

Found = Iterator[tuple[str, tuple[str, ...]]]
"""What is wrong, in words, and with which nodes."""


@dataclass(frozen=True)
class Rule:
    """A rule: what holds, how to mend what breaks it, and whether it is for flows only."""

    name: str
    says: str
    hint: str
    flows_only: bool
    find: Callable[[FlowGraph], Found] = field(repr=False)

    def __call__(self, graph: FlowGraph) -> list[Violation]:
        return [Violation(self.name, message, self.hint, nodes) for message, nodes in self.find(graph)]


RULES: list[Rule] = []
"""All rules, in the order in which they are checked and reported."""


def _rule(hint: str, *, flows_only: bool = False) -> Callable[[Callable[[FlowGraph], Found]], Rule]:
    def register(find: Callable[[FlowGraph], Found]) -> Rule:
        says = (find.__doc__ or "").strip().rstrip(".")
        RULES.append(Rule(find.__name__, says, hint, flows_only, find))
        return RULES[-1]

    return register


@_rule("let a node go on to it, or drop it")
def unreachable(graph: FlowGraph) -> Found:
    """Every node can be reached from the start."""
    reached = _reachable(graph, START)
    for node in inner_nodes(graph):
        if node not in reached:
            yield f"nothing leads from the start to {node}", (node,)


@_rule("annotate its run with the nodes it goes on to, or with End")
def dead_end(graph: FlowGraph) -> Found:
    """Every node goes on to another, or to End."""
    for node in [START, *inner_nodes(graph)]:
        if not graph.out_degree(node):
            yield f"{node} goes on to nothing", (node,)


@_rule("add a way out of the cycle")
def livelock(graph: FlowGraph) -> Found:
    """Every cycle has a way out."""
    for nodes in _cycles(graph):
        if all(target in nodes for node in nodes for target in graph.successors(node)):
            yield f"{_listed(nodes)} can go round, and never out", nodes


@_rule("add a way from it that leads to End")
def no_way_out(graph: FlowGraph) -> Found:
    """End can be reached from every node (one that is a dead end, or in a livelock, is told there)."""
    told = {node for rule in (dead_end, livelock) for _, nodes in rule.find(graph) for node in nodes}
    ending = _reachable(graph.reverse(copy=False), END)
    for node in inner_nodes(graph):
        if node not in ending and node not in told:
            yield f"no way from {node} leads to End", (node,)


@_rule(f"let the cycle pass {PERSIST}, where the budgets are checked", flows_only=True)
def unbounded_cycle(graph: FlowGraph) -> Found:
    """Every cycle passes `persist`."""
    for nodes in _cycles(_without_persist(graph)):
        yield f"{_listed(nodes)} can go round without passing {PERSIST}", nodes


@_rule(f"go on to {PERSIST} instead of End", flows_only=True)
def unsealed_end(graph: FlowGraph) -> Found:
    """`persist` lies on every way to End: from the start, and from wherever a model or a tool may have worked."""
    rest = _without_persist(graph)
    working = [node for node in inner_nodes(rest) if graph.nodes[node]["state"] in _WORKING]
    unsealed = {one for node in (START, *working) for one in _reachable(rest, node)}
    for node in [START, *inner_nodes(rest)]:
        if node in unsealed and rest.has_edge(node, END):
            yield f"{node} can end the turn with work that is not sealed", (node,)


@_rule(f"let the results pass {PERSIST} before the next model request", flows_only=True)
def unsealed_results(graph: FlowGraph) -> Found:
    """From a node that runs tools, `persist` lies on every way to the next model request."""
    rest = _without_persist(graph)
    asking = [node for node in inner_nodes(rest) if graph.nodes[node]["state"] == AgentState.ASSISTANT]
    for node in inner_nodes(rest):
        if graph.nodes[node]["state"] == AgentState.TOOL_EXECUTION:
            reached = _reachable(rest, node)
            if skipping := tuple(one for one in asking if one in reached):
                yield f"{node} leads to {_listed(skipping)} without passing {PERSIST}", (node, *skipping)


@_rule("take another way, or give the flow a state machine with that transition", flows_only=True)
def illegal_state(graph: FlowGraph) -> Found:
    """Every edge is one that the flow's state machine allows."""
    machine: StateMachine = graph.graph["machine"]
    for source, target in dict.fromkeys(graph.edges()):
        before = machine.initial if source == START else graph.nodes[source]["state"]
        after = graph.nodes[target]["state"]
        if after is not None and not machine.allows(before, after):
            said = f"{source} ({before}) goes on to {target} ({after}), which the state machine does not allow"
            yield said, (source, target)


@_rule("let a node that can be reached have it, or give the flow a state machine without it", flows_only=True)
def unused_state(graph: FlowGraph) -> Found:
    """Every state of the flow's state machine is entered by a node that can be reached."""
    machine: StateMachine = graph.graph["machine"]
    reached = _reachable(graph, START)
    entered = {graph.nodes[node]["state"] for node in reached}
    following = [state for states in machine.transitions.values() for state in sorted(states)]
    for state in dict.fromkeys([machine.initial, *machine.transitions, *following]):
        if str(state) not in entered:
            idle = tuple(node for node in inner_nodes(graph) if graph.nodes[node]["state"] == state)
            yield f"the state {state} is never entered{f', only {_listed(idle)} would' if idle else ''}", idle


@_rule('annotate the alternative: Annotated[nodes.X, Edge("when")]', flows_only=True)
def unlabelled_branch(graph: FlowGraph) -> Found:
    """Where a node has several ways, each says when it is taken."""
    for node in inner_nodes(graph):
        ways = list(graph.out_edges(node, data=True))
        bare = dict.fromkeys(target for _, target, edge in ways if not edge["label"])
        if len(ways) > 1 and bare:
            yield f"{node} has {len(ways)} ways and does not say when it goes on to {_listed(bare)}", (node, *bare)


_WORKING = (AgentState.ASSISTANT, AgentState.TOOL_EXECUTION)


def violations(graph: FlowGraph) -> list[Violation]:
    """All broken rules, in the order of `RULES`; for a graph without states, of those that hold for any graph."""
    is_flow = graph.graph["machine"] is not None
    return [violation for rule in RULES if is_flow or not rule.flows_only for violation in rule(graph)]


def violations_of(flow: Drawable) -> list[Violation]:
    """All that is wrong with a flow. Where its edges cannot be read, that is all there is to say."""
    return misdeclared(flow) or violations(extract(flow))


def check(flow: Drawable) -> None:
    """Refuse a flow that breaks a rule.

    Raises:
        UsageError: names every broken rule, the nodes, and the mend.
    """
    broken = violations_of(flow)
    if broken:
        said = "; ".join(f"{one.rule}: {one.message} ({one.hint})" for one in broken)
        raise UsageError(f"the flow {flow.name} breaks {count(len(broken), 'rule')}: {said}")


def _without_persist(graph: FlowGraph) -> FlowGraph:
    return graph.subgraph(node for node in graph if node != PERSIST)


def _cycles(graph: FlowGraph) -> Iterator[tuple[str, ...]]:
    """The nodes of each knot of cycles, in the graph's order."""
    for component in cast(Iterator[set[str]], nx.strongly_connected_components(graph)):
        nodes = tuple(node for node in graph.nodes if node in component)
        if len(nodes) > 1 or any(graph.has_edge(node, node) for node in nodes):
            yield nodes


def _reachable(graph: FlowGraph, source: str) -> set[str]:
    return {source, *nx.descendants(graph, source)}  # pyright: ignore[reportUnknownMemberType]


def _listed(nodes: tuple[str, ...] | dict[str, None]) -> str:
    *first, last = nodes
    return f"{', '.join(first)} and {last}" if first else last
