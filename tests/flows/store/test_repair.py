"""Whatever happened to a store's file, a repair keeps all that can be read and says what it did."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from turngraph.flows.store import Store
from turngraph.flows.store.repair import check, repair
from turngraph.flows.store.salvage import Findings
from turngraph.flows.store.schema import APPLICATION_ID, MIGRATIONS
from turngraph.nodes.errors import StoreError

from ..stored import answered, head, python_process, said, seal_all, texts_of, whole_turn

TURNS = 40
HEADER = 100
"""Bytes at the beginning that tell the journal's mode, which is changed to hold the store alone."""


@pytest.fixture
def filled(store_path: Path) -> str:
    """A store with one session of many turns, closed; the session's id."""
    with Store.open(store_path) as store:
        session = store.create_session("/work")
        for number in range(TURNS):
            with store.begin_turn(head(session, f"{number:032x}"), asked := said(f"p{number} " + "x" * 300)) as log:
                seal_all(log, [asked, answered(f"a{number} " + "y" * 300)])
    return session


@contextmanager
def past_the_triggers(path: Path) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER log_never_updated")
        connection.execute("DROP TRIGGER log_never_deleted")
        yield connection


def checked(path: Path) -> Findings:
    with closing(sqlite3.connect(path)) as connection:
        return check(connection)


def words(path: Path, session: str) -> list[str]:
    with Store.open(path) as store:
        return [str(text).split()[0].rpartition("\n")[2] for text in texts_of(store, session)]


ALL = [f"{who}{number}" for number in range(TURNS) for who in "pa"]


def test_a_sound_store_is_left_alone(filled: str, store_path: Path) -> None:
    before = store_path.read_bytes()
    assert repair(store_path) is None
    assert store_path.read_bytes() == before
    assert [path.name for path in store_path.parent.iterdir()] == [store_path.name]
    assert words(store_path, filled) == ALL


@pytest.mark.parametrize("seed", range(16))
def test_after_damage_to_any_pages_the_rest_is_there(seed: int, filled: str, store_path: Path) -> None:
    """Pages of rows, of indexes, and those that lead to others; all but the first."""
    draw = random.Random(seed)
    data = bytearray(store_path.read_bytes())
    for page in draw.sample(range(1, len(data) // 1024), draw.choice([1, 1, 3])):
        begin, spoilt = page * 1024 + draw.choice([0, 0, 500]), draw.randbytes(draw.choice([1, 40, 524]))
        data[begin : begin + len(spoilt)] = spoilt
    store_path.write_bytes(data)
    try:
        done = repair(store_path)
    except StoreError:
        assert store_path.read_bytes()[HEADER:] == data[HEADER:]
        return
    if done is None:
        return
    assert checked(store_path).sound
    assert done.found.skipped < TURNS * 5, "no more than there ever were"
    assert done.damaged.read_bytes()[HEADER:] == data[HEADER:]
    assert store_path.stat().st_mode & 0o777 == 0o600
    with Store.open(store_path) as store:
        (session,) = [one.id for one in store.sessions()] or [""]
        for turn in store.turns(session):
            store.journal(turn)
        whole_turn(store, session, "after")
        assert store.load_messages(session).skipped == 0
    rest = words(store_path, session)[:-2]
    assert [text for text in ALL if text in rest] == rest
    lost = done.found.skipped + done.found.unreadable + done.found.torn
    assert len(rest) == len(ALL) or lost


def test_the_page_of_the_newest_rows_is_damaged(filled: str, store_path: Path) -> None:
    """Nothing among the rows tells then how many there were; an index does."""
    data = store_path.read_bytes()
    for page in range(1, len(data) // 1024):
        store_path.write_bytes(data[: page * 1024] + b"\xff" * 100 + data[page * 1024 + 100 :])
        with closing(sqlite3.connect(store_path)) as connection:
            if readable(connection, "ASC") and not readable(connection, "DESC"):
                break
    done = repair(store_path)
    assert done is not None
    assert 1 <= done.found.skipped < 20
    assert words(store_path, filled)[: 2 * TURNS - 20] == ALL[: 2 * TURNS - 20]


def readable(connection: sqlite3.Connection, order: str) -> bool:
    try:
        return bool(connection.execute(f"SELECT id FROM log NOT INDEXED ORDER BY id {order} LIMIT 1").fetchall())
    except sqlite3.DatabaseError:
        return False


def test_an_index_alone_is_made_anew_and_no_row_is_lost(filled: str, store_path: Path) -> None:
    with past_the_triggers(store_path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, '(session)', '(iteration)') WHERE type = 'index'"
        )
    assert checked(store_path).pages
    done = repair(store_path)
    assert done is not None
    assert done.kept == done.found.rows
    assert words(store_path, filled) == ALL


@pytest.mark.parametrize(
    ("spoil", "lost"),
    [
        ("UPDATE log SET content = substr(content, 9) WHERE kind = 'message' AND content LIKE '%a3 %'", ["p3", "a3"]),
        ("UPDATE log SET content = CAST(x'ff' AS TEXT) WHERE kind = 'turn' AND content LIKE '%p3 %'", ["p3", "a3"]),
        ("UPDATE log SET facts = '[]' WHERE kind = 'message' AND content LIKE '%a3 %'", ["p3", "a3"]),
        ("UPDATE log SET kind = 'messige' WHERE kind = 'message' AND content LIKE '%a3 %'", ["p3", "a3"]),
        ("DELETE FROM log WHERE kind = 'message' AND content LIKE '%a3 %'", ["p3", "a3"]),
        ("DELETE FROM log WHERE kind = 'turn' AND content LIKE '%p3 %'", ["p3", "a3"]),
        ("UPDATE log SET facts = '{' WHERE id = (SELECT max(id) FROM log WHERE kind = 'seal')", ["p39", "a39"]),
    ],
)  # fmt: skip
def test_rows_that_say_nothing_are_left_out_with_what_rests_on_them(
    spoil: str, lost: list[str], filled: str, store_path: Path
) -> None:
    with past_the_triggers(store_path) as connection:
        changed = connection.execute(spoil).rowcount
    found = checked(store_path)
    assert (changed, found.pages) == (1, [])
    done = repair(store_path)
    assert done is not None
    assert done.found == found
    assert done.found.unreadable + done.found.torn + done.found.strays >= 1
    assert checked(store_path).sound
    assert words(store_path, filled) == [text for text in ALL if text not in lost]
    with Store.open(store_path) as store:
        assert store.load_messages(filled).skipped == 0
        for turn in store.turns(filled):
            assert all(record.body is not None or record.kind == "messige" for record in store.journal(turn))


def test_a_session_without_its_row_is_found_again(filled: str, store_path: Path) -> None:
    with past_the_triggers(store_path) as connection:
        connection.execute("DELETE FROM log WHERE kind = 'session'")
    done = repair(store_path)
    assert done is not None
    (session,) = done.sessions
    assert words(store_path, session) == ALL
    with Store.open(store_path) as store:
        assert len(store.turns(session)) == TURNS


def test_a_session_with_a_damaged_row_keeps_its_id(filled: str, store_path: Path) -> None:
    with past_the_triggers(store_path) as connection:
        connection.execute("DROP INDEX log_workdir")
        connection.execute("UPDATE log SET facts = '{' WHERE kind = 'session'")
    done = repair(store_path)
    assert done is not None
    assert done.sessions == [filled]
    assert words(store_path, filled) == ALL


OPEN_STORE = """
with Store.open(Path(sys.argv[1])) as store:
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_store_in_use_is_not_repaired(filled: str, store_path: Path) -> None:
    """A process that only has it open would write on into the file that was put aside."""
    with past_the_triggers(store_path) as connection:
        connection.execute("DELETE FROM log WHERE kind = 'message' AND content LIKE '%a3 %'")
    with python_process(OPEN_STORE, store_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        with pytest.raises(StoreError, match=r"in use.*end all other"):
            repair(store_path)
        assert [path for path in store_path.parent.iterdir() if "damaged" in path.name or "repaired" in path.name] == []
    assert repair(store_path) is not None


def test_where_nothing_can_be_read_nothing_is_done(filled: str, store_path: Path) -> None:
    data = store_path.read_bytes()
    store_path.write_bytes(data[:1024] + os.urandom(len(data) - 1024))
    with pytest.raises(StoreError, match=r"could not be repaired.*recover"):
        repair(store_path)
    assert [
        path.name for path in store_path.parent.iterdir() if "damaged" in path.name or "repaired" in path.name
    ] == []


def test_the_end_of_the_file_is_lost(filled: str, store_path: Path) -> None:
    """As after a full disk or a copy that broke off: what lies before is there, up to the last row."""
    whole = store_path.read_bytes()
    os.truncate(store_path, len(whole) * 6 // 10)
    done = repair(store_path)
    assert done is not None
    assert checked(store_path).sound
    with Store.open(store_path) as store:
        (session,) = [one.id for one in store.sessions()]
    rest = words(store_path, session)
    assert [text for text in ALL if text in rest] == rest
    assert len(rest) > TURNS // 2


def test_what_is_not_ours_is_not_touched(store_path: Path) -> None:
    store_path.parent.mkdir()
    with closing(sqlite3.connect(store_path)) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(StoreError, match="another program"):
        repair(store_path)
    with closing(sqlite3.connect(store_path)) as connection:
        connection.executescript(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="version 99"):
        repair(store_path)
    store_path.write_bytes(os.urandom(4096))
    with pytest.raises(StoreError, match="could not be repaired"):
        repair(store_path)


def test_an_older_store_is_repaired_as_what_it_is_and_migrated_when_it_is_opened(store_path: Path) -> None:
    store_path.parent.mkdir()
    with closing(sqlite3.connect(store_path, isolation_level=None)) as connection:
        MIGRATIONS[0](connection)
        for number in range(200):
            values = (f"{number:012x}", f'{{"workdir": "/{"w" * 200}"}}')
            connection.execute(
                "INSERT INTO log VALUES (NULL, ?, NULL, 0, 'session', '2026-01-01T00:00:00+00:00', ?)", values
            )
        connection.executescript(f"PRAGMA user_version = 1; PRAGMA application_id = {APPLICATION_ID}")
    data = bytearray(store_path.read_bytes())
    data[4096 * 3 : 4096 * 4] = os.urandom(4096)
    store_path.write_bytes(data)
    done = repair(store_path)
    assert done is not None
    with Store.open(store_path) as store:
        assert 150 < len(store.sessions()) == done.kept < 200
