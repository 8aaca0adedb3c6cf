from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turngraph.flows.flow import STANDARD
from turngraph.graphs.declared import END
from turngraph.graphs.extract import START, FlowGraph, extract
from turngraph.graphs.rules import (
    PERSIST,
    RULES,
    Violation,
    check,
    illegal_state,
    no_way_out,
    unbounded_cycle,
    unreachable,
    unsealed_end,
    violations,
)
from turngraph.nodes.errors import UsageError
from turngraph.nodes.state import StateMachine

from .castings import Bare, drawn

GOOD = [(START, "a"), ("a", PERSIST), (PERSIST, "a"), (PERSIST, END)]
BREAKING: list[tuple[Callable[[FlowGraph], Iterable[Violation]], list[tuple[str, str]], str]] = [
    (unreachable, [*GOOD, ("lost", PERSIST)], "nothing leads to lost"),
    (no_way_out, [*GOOD, ("a", "trap"), ("trap", "trap")], "from trap the turn can never end"),
    (unbounded_cycle, [*GOOD, ("a", "a")], "a can go round"),
    (unbounded_cycle, [*GOOD, ("a", "b"), ("b", "a"), ("b", PERSIST)], "a and b can go round"),
    (unsealed_end, [*GOOD, ("a", END)], "a ends the turn unsealed"),
]


@pytest.mark.parametrize(("rule", "edges", "words"), BREAKING)
def test_a_rule_is_broken(
    rule: Callable[[FlowGraph], Iterable[Violation]], edges: list[tuple[str, str]], words: str
) -> None:
    (broken,) = rule(drawn(*edges))
    assert broken.rule == getattr(rule, "__name__", "")
    assert words in broken.message
    assert broken.hint


@pytest.mark.parametrize(
    "edges",
    [
        GOOD,
        [*GOOD, ("a", "b"), ("b", PERSIST)],
        [*GOOD, ("a", PERSIST)],
        [*GOOD, (PERSIST, PERSIST)],
        [*GOOD, ("a", "b"), ("b", "c"), ("c", PERSIST), ("a", "c"), (PERSIST, "b")],
        [(START, PERSIST), (PERSIST, END)],
    ],
)
def test_a_graph_that_just_keeps_the_rules(edges: list[tuple[str, str]]) -> None:
    assert violations(drawn(*edges)) == []


def test_an_edge_that_the_machine_forbids() -> None:
    states = {"a": "assistant", PERSIST: "response"}
    assert list(illegal_state(drawn(*GOOD, states=states))) == []
    backwards = list(illegal_state(drawn(*GOOD, states={"a": "user_input", PERSIST: "response"})))
    assert [violation.message.split(",")[0] for violation in backwards] == [
        "a (user_input) goes on to persist (response)",
        "persist (response) goes on to a (user_input)",
    ]
    early = drawn((START, "a"), ("a", END), states={"a": "response"})
    assert [violation.message.split(",")[0] for violation in illegal_state(early)] == [
        "start (user_input) goes on to a (response)"
    ]


def test_a_flow_may_have_a_machine_of_its_own() -> None:
    machine = StateMachine("idle", {"idle": frozenset({"busy"}), "busy": frozenset({"idle"})})
    assert list(illegal_state(drawn(*GOOD, states={"a": "busy", PERSIST: "idle"}, machine=machine))) == []
    assert len(list(illegal_state(drawn(*GOOD, states={"a": "other", PERSIST: "idle"}, machine=machine)))) == 3


def test_the_standard_flow_keeps_the_rules() -> None:
    assert violations(extract(STANDARD)) == []
    check(STANDARD)


def test_a_flow_that_breaks_rules_is_refused_with_all_of_them() -> None:
    with pytest.raises(UsageError, match=r"the flow standard breaks 1 rule\(s\): unsealed_end: stream ends the turn"):
        check(STANDARD.swap(Bare))


NAMES: tuple[str, ...] = ("a", "b", "c", PERSIST)
STATES = ("user_input", "assistant", "tool_execution", "response")
EDGES = st.lists(st.tuples(st.sampled_from([START, *NAMES]), st.sampled_from([*NAMES, END])), max_size=12)


def walks(edges: list[tuple[str, str]], begin: str, banned: str | None = None) -> set[str]:
    """The nodes reached from `begin` in one step or more, never entering `banned`."""
    found: set[str] = set()
    for _ in range(len(NAMES) + 3):
        found |= {two for one, two in edges if (one == begin or one in found) and two != banned}
    return found


@given(edges=EDGES, states=st.lists(st.sampled_from(STATES), min_size=4, max_size=4))
def test_the_rules_agree_with_a_slow_reading_of_them(edges: list[tuple[str, str]], states: list[str]) -> None:
    placed: dict[str, str] = dict(zip(NAMES, states, strict=True))
    graph = drawn(*edges, states=placed)
    roles = [node for node in graph.nodes if node not in (START, END)]
    broken = violations(graph)
    assert [rule.__name__ for rule in RULES if any(one.rule == rule.__name__ for one in broken)] == list(
        dict.fromkeys(one.rule for one in broken)
    )

    def messages(rule: str) -> str:
        return " | ".join(one.message for one in broken if one.rule == rule)

    def count(rule: str) -> int:
        return sum(one.rule == rule for one in broken)

    lost = [role for role in roles if role not in walks(edges, START)]
    assert count("unreachable") == len(lost)
    assert all(f"nothing leads to {role}" in messages("unreachable") for role in lost)
    stuck = [role for role in roles if END not in walks(edges, role)]
    assert count("no_way_out") == len(stuck)
    assert all(f"from {role} the turn" in messages("no_way_out") for role in stuck)
    round_and_round = [role for role in roles if role != PERSIST and role in walks(edges, role, banned=PERSIST)]
    assert bool(round_and_round) == bool(count("unbounded_cycle"))
    named = messages("unbounded_cycle").replace("can go round without passing persist", "").split()
    assert sorted(word for word in named if word in NAMES) == sorted(round_and_round)
    assert count("unsealed_end") == len({one for one, two in edges if two == END and one not in (START, PERSIST)})
    allowed = {("user_input", "assistant"), ("assistant", "tool_execution"), ("assistant", "response")}
    allowed |= {("tool_execution", "response"), ("response", "assistant")} | {(state, state) for state in STATES}
    illegal = {
        (one, two)
        for one, two in edges
        if two != END and (placed[one] if one != START else "user_input", placed[two]) not in allowed
    }
    assert count("illegal_state") == len(illegal)
