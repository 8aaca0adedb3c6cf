"""How two graphs differ is said role by role and edge by edge, and nothing is said of two that are the same."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turngraph.flows.flow import STANDARD
from turngraph.flows.journal.differences import differences

ROLES = st.sampled_from("abcde")
GRAPHS = st.fixed_dictionaries(
    {
        "start": ROLES,
        "states": st.dictionaries(ROLES, st.sampled_from(["user_input", "response"])),
        "edges": st.dictionaries(ROLES, st.lists(ROLES, unique=True)),
        "initial": st.just("user_input"),
        "transitions": st.dictionaries(st.just("user_input"), st.lists(st.just("response"))),
    }
)


def shape() -> Any:
    return copy.deepcopy(dict(STANDARD.shape))


@given(GRAPHS, GRAPHS)
def test_something_is_said_exactly_where_they_differ(one: Any, other: Any) -> None:
    def meaning(graph: Any) -> Any:
        edges = {(role, way) for role, ways in graph["edges"].items() for way in ways}
        return graph["start"], graph["states"], edges, graph["transitions"]

    assert bool(differences(one, other)) == (meaning(one) != meaning(other))
    assert differences(one, one) == []
    assert len(differences(one, other)) == len(differences(other, one))


def test_what_is_new_and_what_is_gone_is_named() -> None:
    now = shape()
    del now["states"]["dispatch"]
    del now["edges"]["dispatch"]
    now["states"]["judge"] = now["states"]["persist"]
    now["states"]["stream"] = "elsewhere"
    now["edges"]["stream"] = [*now["edges"]["stream"], "judge"]
    now["start"] = "stream"
    assert differences(STANDARD.shape, now) == [
        "it starts with stream, and did with prepare_history",
        "the role dispatch is gone",
        "the role judge is new",
        "stream runs in elsewhere, and did in assistant",
        "stream may go on to judge",
        "dispatch no longer goes on to execute",
        "dispatch no longer goes on to persist",
    ]


@pytest.mark.parametrize(("name", "value"), [("initial", "response"), ("transitions", {})])
def test_another_state_machine_is_said(name: str, value: Any) -> None:
    now = shape()
    now[name] = value
    assert differences(STANDARD.shape, now) == ["its state machine is another"]


def test_nothing_is_known_of_a_record_without_its_graph() -> None:
    assert differences({}, STANDARD.shape) == []
