"""The rules against a slow reading of them: all walks of a small graph, followed edge by edge."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from turngraph.graphs.declared import END
from turngraph.graphs.extract import START
from turngraph.graphs.rules import PERSIST, RULES, violations

from .castings import drawn

Edge = tuple[str, str]

NAMES: tuple[str, ...] = ("a", "b", "c", PERSIST)
STATES: tuple[str, ...] = ("user_input", "assistant", "tool_execution", "response")
EDGES = st.lists(st.tuples(st.sampled_from([START, *NAMES]), st.sampled_from([*NAMES, END])), max_size=12)
ALLOWED = {
    ("user_input", "assistant"),
    ("assistant", "tool_execution"),
    ("assistant", "response"),
    ("tool_execution", "response"),
    ("response", "assistant"),
    *((state, state) for state in STATES),
}


def walk(edges: list[Edge], begin: str, banned: str = "") -> set[str]:
    """The nodes that a walk of one step or more leads to, never entering `banned`."""
    found: set[str] = set()
    for _ in range(len(NAMES) + 3):
        found |= {two for one, two in edges if (one == begin or one in found) and two != banned}
    return found


def expected(edges: list[Edge], state: dict[str, str]) -> dict[str, set[str]]:
    """For each rule the nodes that break it, from its sentence alone."""
    roles = {node for edge in edges for node in edge} - {START, END}
    on = {node: walk(edges, node) for node in [START, *roles]}
    past = {node: walk(edges, node, PERSIST) for node in [START, *roles]}
    stuck = {node for node in roles if END not in on[node]}
    walls = {node for node in [START, *roles] if not any(one == node for one, _ in edges)}
    turning = {node for node in stuck if node in on[node] and all(node in on[other] for other in on[node])}
    working = {START} | {node for node in roles - {PERSIST} if state[node] in ("assistant", "tool_execution")}
    unsealed = {end for begin in working for end in past[begin] | {begin} if (end, END) in edges and end != PERSIST}
    asking = {node for node in roles - {PERSIST} if state[node] == "assistant"}
    before = {**state, START: "user_input"}
    return {
        "unreachable": roles - on[START],
        "dead_end": walls,
        "livelock": turning,
        "no_way_out": stuck - walls - turning,
        "unbounded_cycle": {node for node in roles - {PERSIST} if node in past[node]},
        "unsealed_end": unsealed,
        "unsealed_results": {
            node for node in roles - {PERSIST} if state[node] == "tool_execution" and past[node] & asking
        },
        "illegal_state": {one for one, two in edges if two != END and (before[one], state[two]) not in ALLOWED},
        "unused_state": set(STATES) - {state[node] for node in on[START] - {END}},
        "unlabelled_branch": set(),
    }


@given(edges=EDGES, states=st.lists(st.sampled_from(STATES), min_size=4, max_size=4))
def test_the_rules_agree_with_a_slow_reading_of_them(edges: list[Edge], states: list[str]) -> None:
    state = dict(zip(NAMES, states, strict=True))
    broken = violations(drawn(*edges, states=state))
    found: dict[str, set[str]] = {rule.name: set() for rule in RULES}
    for one in broken:
        if one.rule == "unused_state":
            found[one.rule].add(one.message.split()[2])
        elif one.rule in ("unsealed_results", "illegal_state"):
            found[one.rule].add(one.nodes[0])
        else:
            found[one.rule] |= set(one.nodes)
    assert found == expected(edges, state)
    order = [rule.name for rule in RULES]
    assert [order.index(one.rule) for one in broken] == sorted(order.index(one.rule) for one in broken)


@given(edges=EDGES)
def test_without_states_the_rules_for_any_graph_are_the_same(edges: list[Edge]) -> None:
    general = [rule.name for rule in RULES if not rule.flows_only]
    with_states = [one for one in violations(drawn(*edges)) if one.rule in general]
    assert violations(drawn(*edges, machine=None)) == with_states


@given(edges=EDGES, bare=st.sets(st.integers(0, 11)))
def test_a_branch_without_a_label_is_found_wherever_it_is(edges: list[Edge], bare: set[int]) -> None:
    graph = drawn(*edges)
    for number, (_, _, edge) in enumerate(graph.edges(data=True)):
        edge["label"] = None if number in bare else "said"
    listed = list(graph.edges(data=True))
    guilty = {
        source
        for source, _, edge in listed
        if not edge["label"] and source != START and sum(one == source for one, _, _ in listed) > 1
    }
    assert {one.nodes[0] for one in violations(graph) if one.rule == "unlabelled_branch"} == guilty
