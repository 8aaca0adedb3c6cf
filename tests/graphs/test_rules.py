from __future__ import annotations

import pytest
from turngraph.flows.flow import STANDARD
from turngraph.graphs.declared import END
from turngraph.graphs.extract import START, extract
from turngraph.graphs.rules import (
    PERSIST,
    RULES,
    Rule,
    check,
    dead_end,
    illegal_state,
    livelock,
    no_way_out,
    unbounded_cycle,
    unlabelled_branch,
    unreachable,
    unsealed_end,
    unsealed_results,
    unused_state,
    violations,
)
from turngraph.nodes.errors import UsageError
from turngraph.nodes.state import StateMachine

from .castings import Bare, drawn

Edges = list[tuple[str, str]]

GOOD: Edges = [(START, "a"), ("a", PERSIST), (PERSIST, "a"), (PERSIST, END)]
BREAKING: list[tuple[Rule, Edges, str]] = [
    (unreachable, [*GOOD, ("lost", PERSIST)], "nothing leads from the start to lost"),
    (dead_end, [*GOOD, ("a", "wall")], "wall goes on to nothing"),
    (livelock, [*GOOD, ("a", "trap"), ("trap", "trap")], "trap can go round, and never out"),
    (livelock, [*GOOD, ("a", "b"), ("b", "c"), ("c", "b")], "b and c can go round, and never out"),
    (no_way_out, [*GOOD, ("a", "b"), ("b", "wall")], "no way from b leads to End"),
    (unbounded_cycle, [*GOOD, ("a", "a")], "a can go round without passing persist"),
    (unbounded_cycle, [*GOOD, ("a", "b"), ("b", "a"), ("b", PERSIST)], "a and b can go round"),
    (unsealed_end, [*GOOD, ("a", END)], "a can end the turn with work that is not sealed"),
    (unsealed_end, [*GOOD, (START, END)], "start can end the turn"),
]
KEEPING: dict[str, list[Edges]] = {
    "unreachable": [[*GOOD, ("a", "b"), ("b", PERSIST)]],
    "dead_end": [[*GOOD, ("a", "wall"), ("wall", PERSIST)]],
    "livelock": [[*GOOD, ("a", "trap"), ("trap", "trap"), ("trap", PERSIST)]],
    "no_way_out": [[*GOOD, ("a", "b"), ("b", "wall"), ("b", PERSIST)]],
    "unbounded_cycle": [
        [*GOOD, (PERSIST, PERSIST)],
        [*GOOD, ("a", "b"), ("b", "c"), ("c", PERSIST), ("a", "c"), (PERSIST, "b")],
    ],
    "unsealed_end": [[*GOOD, ("a", PERSIST)], [(START, PERSIST), (PERSIST, END)]],
}


@pytest.mark.parametrize(("rule", "edges", "words"), BREAKING)
def test_a_rule_is_broken(rule: Rule, edges: Edges, words: str) -> None:
    (broken,) = rule(drawn(*edges))
    assert (broken.rule, broken.hint) == (rule.name, rule.hint)
    assert words in broken.message
    assert all(node in broken.message for node in broken.nodes)
    assert broken.nodes


@pytest.mark.parametrize(("name", "edges"), [(name, edges) for name, many in KEEPING.items() for edges in many])
def test_a_graph_that_just_keeps_a_rule(name: str, edges: Edges) -> None:
    (rule,) = (rule for rule in RULES if rule.name == name)
    assert rule(drawn(*edges)) == []


def test_a_node_after_persist_may_end_a_turn_that_is_sealed_and_not_one_that_worked_again() -> None:
    last = [(START, "a"), ("a", PERSIST), (PERSIST, "farewell"), ("farewell", END)]
    assert unsealed_end(drawn(*last, states={PERSIST: "response", "farewell": "response"})) == []
    (broken,) = unsealed_end(drawn(*last, states={PERSIST: "response", "farewell": "assistant"}))
    assert broken.nodes == ("farewell",)


def test_results_of_tools_pass_persist_before_the_next_model_request() -> None:
    tools = [*GOOD, ("a", "tools"), ("tools", "sort"), ("sort", PERSIST)]
    states = {"tools": "tool_execution", "sort": "response", PERSIST: "response"}
    assert unsealed_results(drawn(*tools, states=states)) == []
    (broken,) = unsealed_results(drawn(*tools, ("sort", "a"), states=states))
    assert broken.message == "tools leads to a without passing persist"


def test_an_edge_that_the_machine_forbids() -> None:
    states = {"a": "assistant", PERSIST: "response"}
    assert illegal_state(drawn(*GOOD, states=states)) == []
    backwards = illegal_state(drawn(*GOOD, states={"a": "user_input", PERSIST: "response"}))
    assert [violation.message.split(",")[0] for violation in backwards] == [
        "a (user_input) goes on to persist (response)",
        "persist (response) goes on to a (user_input)",
    ]
    early = drawn((START, "a"), ("a", END), states={"a": "response"})
    assert [violation.nodes for violation in illegal_state(early)] == [(START, "a")]


def test_every_state_of_the_machine_is_entered() -> None:
    machine = StateMachine("idle", {"idle": frozenset({"busy"}), "busy": frozenset({"idle"})})
    assert unused_state(drawn(*GOOD, states={"a": "idle", PERSIST: "busy"}, machine=machine)) == []
    (broken,) = unused_state(drawn(*GOOD, states={"a": "idle", PERSIST: "idle"}, machine=machine))
    assert broken.message == "the state busy is never entered"
    one_way = StateMachine("idle", {"idle": frozenset({"busy"})})
    assert len(unused_state(drawn(*GOOD, states={"a": "idle", PERSIST: "idle"}, machine=one_way))) == 1
    lost = drawn(*GOOD, ("lost", PERSIST), states={"a": "idle", PERSIST: "idle", "lost": "busy"}, machine=machine)
    assert unused_state(lost)[0].message == "the state busy is never entered, only lost would"


def test_a_flow_may_have_a_machine_of_its_own() -> None:
    machine = StateMachine("idle", {"idle": frozenset({"busy"}), "busy": frozenset({"idle"})})
    assert illegal_state(drawn(*GOOD, states={"a": "busy", PERSIST: "idle"}, machine=machine)) == []
    assert len(illegal_state(drawn(*GOOD, states={"a": "other", PERSIST: "idle"}, machine=machine))) == 3


def test_a_branch_says_when_it_is_taken() -> None:
    graph = drawn(*GOOD)
    graph.edges["a", PERSIST, 0]["label"] = None
    assert unlabelled_branch(graph) == []
    graph.edges[PERSIST, END, 0]["label"] = None
    (broken,) = unlabelled_branch(graph)
    assert broken.message == "persist has 2 ways and does not say when it goes on to end"


def test_a_graph_without_states_keeps_the_rules_that_need_none() -> None:
    plain = [(START, "a"), ("a", "a"), ("a", END), ("a", "wall")]
    assert [one.rule for one in violations(drawn(*plain, machine=None))] == ["dead_end"]


def test_the_standard_flow_keeps_the_rules() -> None:
    assert violations(extract(STANDARD)) == []
    check(STANDARD)


def test_a_flow_that_breaks_rules_is_refused_with_all_of_them() -> None:
    with pytest.raises(UsageError, match=r"breaks 2 rules: unsealed_end: stream can end .*; unlabelled_branch: s"):
        check(STANDARD.swap(Bare))


def test_every_rule_has_a_name_a_sentence_and_a_hint() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES) >= 10
    assert all(rule.says and rule.hint for rule in RULES)
