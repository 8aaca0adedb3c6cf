"""A session is deleted whole, with every byte it said, or not at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from turngraph.flows.store import Store
from turngraph.nodes.errors import SessionBusy, StoreError, UnknownSession

from ..stored import head, said, texts_of, whole_turn


def contents(path: Path) -> bytes:
    return b"".join(part.read_bytes() for part in path.parent.iterdir())


def count(path: Path, kind: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT count(*) FROM log WHERE kind = ?", (kind,)).fetchone()[0]


def test_nothing_of_a_deleted_session_is_left_and_the_others_stay(store: Store, store_path: Path) -> None:
    session, other = store.create_session("/secret-place"), store.create_session("/work")
    for number in range(30):
        whole_turn(store, session, f"secret-{number}", "confidential " * 200)
        whole_turn(store, other, f"other-{number}", "public")
    with store.begin_turn(head(session, "secret", workdir="/secret-place", model="secret-model"), None):
        pass
    assert b"confidential" in contents(store_path)
    store.delete_session(session)
    left = contents(store_path)
    assert b"confidential" not in left
    assert b"secret" not in left
    assert store.journal("secret-1") == []
    with pytest.raises(UnknownSession):
        store.load_messages(session)
    assert [summary.id for summary in store.sessions()] == [other]
    assert texts_of(store, other) == ["public", "done"] * 30
    assert count(store_path, "setup") == 1
    whole_turn(store, other, "after", "later")


def test_a_row_id_is_never_given_twice(store: Store) -> None:
    kept, gone = store.create_session("/work"), store.create_session("/work")
    whole_turn(store, gone)
    newest = store.journal("turn-1")[-1].id
    store.delete_session(gone)
    whole_turn(store, kept, "turn-2")
    assert store.journal("turn-2")[0].id > newest


def test_a_session_whose_turn_runs_is_not_deleted(store: Store) -> None:
    session = store.create_session("/work")
    with store.begin_turn(head(session), said("hello")), pytest.raises(SessionBusy):
        store.delete_session(session)
    assert store.turns(session) == ["turn-1"]
    store.delete_session(session)


def test_a_session_that_others_share_is_not_deleted_before_them(store: Store) -> None:
    session = store.create_session("/work")
    whole_turn(store, session)
    row = store.journal("turn-1")[-1].id
    fork = store.create_session("/work", after=row)
    fork_of_fork = store.create_session("/work", after=store.branch_point(fork))
    with pytest.raises(StoreError, match=f"shares its history with {fork}"):
        store.delete_session(session)
    with pytest.raises(StoreError, match=f"shares its history with {fork_of_fork}"):
        store.delete_session(fork)
    assert texts_of(store, fork_of_fork) == ["hello", "done"]
    for each in (fork_of_fork, fork, session):
        store.delete_session(each)
    assert store.sessions() == []


def test_the_log_lets_nothing_else_be_deleted(store: Store, store_path: Path) -> None:
    whole_turn(store, store.create_session("/work"))
    store.delete_session(store.create_session("/work"))
    with closing(sqlite3.connect(store_path)) as connection:
        for statement in ("DELETE FROM log", "DELETE FROM log WHERE kind = 'setup'"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
