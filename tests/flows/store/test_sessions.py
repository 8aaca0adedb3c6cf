"""Sessions are found by where they were used, by the beginning of their id, or in the list."""

from __future__ import annotations

import secrets

import pytest
from turngraph.flows.store import Store
from turngraph.nodes.errors import UnknownSession
from turngraph.nodes.outcome import Outcome

from ..stored import head, said, whole_turn


def test_the_latest_session_of_a_directory(store: Store) -> None:
    assert store.latest_session("/work") is None
    one, other = store.create_session("/work"), store.create_session("/work\udcff")
    assert store.latest_session("/work") == one
    assert store.latest_session("/work\udcff") == other
    newer = store.create_session("/work")
    assert store.latest_session("/work") == newer
    whole_turn(store, one)
    assert store.latest_session("/work") == one
    with store.begin_turn(head(one, "moved", workdir="/elsewhere"), None):
        pass
    assert store.latest_session("/elsewhere") == one


def test_a_session_is_found_by_the_beginning_of_its_id(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = iter(["abcd00000000", "abcd11111111", "ffff22222222"])

    def next_id(_: int) -> str:
        return next(ids)

    monkeypatch.setattr(secrets, "token_hex", next_id)
    for _ in range(3):
        store.create_session("/work")
    assert store.find_session("ffff") == "ffff22222222"
    assert store.find_session("abcd1") == store.find_session("abcd11111111") == "abcd11111111"
    for prefix, problem in [
        ("abcd", "several"),
        ("eeee", "no session begins with eeee"),
        ("fff", "4 to 12"),
        ("ffff222222220", "4 to 12"),
        ("no id", "no session id"),
        ("%%%%", "no session id"),
        ("", "no session id"),
    ]:
        with pytest.raises(UnknownSession, match=f"{problem}.*turngraph session list"):
            store.find_session(prefix)


def test_the_list_of_sessions(store: Store) -> None:
    used, empty, cut_off = (store.create_session(f"/{name}\udcff") for name in ("used", "empty", "cut"))
    whole_turn(store, used, "one", "first \ud800")
    store.begin_turn(head(cut_off, "two"), said("cut")).close()
    whole_turn(store, used, "three", "second")
    summaries = store.sessions()
    assert [(each.id, each.workdir, each.turns, each.first_prompt, each.last_outcome) for each in summaries] == [
        (used, "/used\udcff", 2, "first \ud800", Outcome.COMPLETED),
        (cut_off, "/cut\udcff", 1, "cut", None),
        (empty, "/empty\udcff", 0, None, None),
    ]
    for each in summaries:
        assert each.started_at <= each.last_used_at
    assert store.turns(used) == ["one", "three"]


def test_an_unknown_session_has_no_history(store: Store) -> None:
    for read in (store.load_messages, store.turns):
        with pytest.raises(UnknownSession):
            read("0123456789ab")
    assert store.journal("nothing") == []
