"""A session's history can be gone on with from the end of any of its turns, and gone back to."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turngraph.flows.store import Store
from turngraph.nodes.errors import UsageError

from ..stored import head, said, seal_all, texts_of, whole_turn


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["turn", "branch", "fork", "add"]), st.integers(0, 20)), max_size=12))
def test_any_way_through_turns_branches_and_forks(steps: list[tuple[str, int]]) -> None:
    """Against lists of texts, one for each session and turn."""
    with Store.in_memory() as store:
        sessions = {store.create_session("/work"): list[str]()}
        ends: dict[str, tuple[str, list[str]]] = {}
        for number, (step, choice) in enumerate(steps):
            session = list(sessions)[choice % len(sessions)]
            own = [turn for turn, (where, _) in ends.items() if where == session]
            if step == "turn":
                whole_turn(store, session, f"turn-{number}", f"p{number}")
                sessions[session] = [*sessions[session], f"p{number}", "done"]
                ends[f"turn-{number}"] = session, sessions[session]
            elif step == "add":
                store.add_messages(session, [said(f"a{number}")])
                sessions[session] = [*sessions[session], f"a{number}"]
            elif step == "fork":
                sessions[store.create_session("/work", after=store.branch_point(session))] = sessions[session]
            elif own:
                turn = own[choice % len(own)]
                store.branch(session, store.branch_point(session, turn))
                sessions[session] = ends[turn][1]
        assert {session: texts_of(store, session) for session in sessions} == sessions
        for session, expected in sessions.items():
            prompts = [f"p{turn.removeprefix('turn-')}" for turn in store.history_turns(session)]
            assert prompts == [text for text in expected if text.startswith("p")]


def test_a_fork_knows_the_turns_it_shares_and_no_others(store: Store) -> None:
    session, stranger = store.create_session("/work"), store.create_session("/work")
    whole_turn(store, session, "one", "first")
    whole_turn(store, session, "two", "second")
    whole_turn(store, stranger, "three", "third")
    fork = store.create_session("/work", after=store.branch_point(session, "one"))
    assert store.history_turns(fork) == ["one"]
    store.branch(fork, store.branch_point(fork, "one"))
    for turn in ("two", "three"):
        with pytest.raises(UsageError, match=f"no turn of session {fork}.*turn list --session {fork}"):
            store.branch_point(fork, turn)
    with pytest.raises(UsageError, match="there is no turn"):
        store.branch_point(fork, "four")


def test_the_end_of_a_running_turn_is_what_it_has_sealed(store: Store) -> None:
    session = store.create_session("/work")
    with store.begin_turn(head(session, "one"), said("first")) as log:
        seal_all(log, [said("sealed")])
        fork = store.create_session("/work", after=store.branch_point(session, "one"))
        seal_all(log, [said("later")])
    assert texts_of(store, fork) == ["sealed"]
