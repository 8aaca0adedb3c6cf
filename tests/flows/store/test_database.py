"""The file: private, ours alone, append-only, and every failure said in one sentence that loses nothing."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from turngraph.flows.store import Store, database
from turngraph.flows.store.schema import MIGRATIONS
from turngraph.nodes.errors import StoreError

from ..stored import head, outcome_of, run_python, said, texts_of, whole_turn


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_the_store_is_for_its_user_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "new" / "deeper" / "turns.db"
    before = os.umask(umask)
    try:
        with Store.open(path) as store:
            whole_turn(store, store.create_session("/work"))
            modes = {found.name: stat.S_IMODE(found.stat().st_mode) for found in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"turns.db": 0o600, "turns.db-wal": 0o600, "turns.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700


def test_a_directory_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    Store.open(tmp_path / "turns.db").close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_row_is_never_changed_or_deleted(store: Store, store_path: Path) -> None:
    whole_turn(store, store.create_session("/work"))
    with closing(sqlite3.connect(store_path)) as connection:
        for statement in ("UPDATE log SET facts = '{}'", "DELETE FROM log"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)


def _directory(path: Path) -> None:
    path.mkdir(parents=True)


def _diary(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("dear diary\n" * 1000)


def _bookmarks(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")


def _newer(path: Path) -> None:
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7777")


def _damaged(path: Path) -> None:
    with Store.open(path) as store:
        for number in range(20):
            whole_turn(store, store.create_session("/work"), f"turn-{number}", "x" * 1000)
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + os.urandom(len(whole) - 100))


def _below_a_file(path: Path) -> None:
    path.parent.write_text("no directory")


@pytest.mark.parametrize(
    ("spoil", "said_to_do"),
    [
        (_directory, "cannot be opened"),
        (_diary, "not a turngraph store; name another file"),
        (_bookmarks, "another program; name another file"),
        (_newer, "version 7777.*upgrade turngraph"),
        (_damaged, "damaged; move it away"),
        (_below_a_file, "cannot be opened.*check its path"),
    ],
)
def test_a_file_that_is_no_store_is_refused_untouched(
    store_path: Path, spoil: Callable[[Path], None], said_to_do: str
) -> None:
    spoil(store_path)
    before = store_path.read_bytes() if store_path.is_file() else None
    with pytest.raises(StoreError, match=said_to_do) as caught:
        Store.open(store_path)
    assert str(store_path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert before is None or store_path.read_bytes() == before


def test_a_path_that_no_file_system_takes(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no plain text"):
        Store.open(tmp_path / "a\0b" / "turns.db")


READ_ONLY = """
import os
os.chmod(sys.argv[1], 0o444)
os.chmod(Path(sys.argv[1]).parent, 0o555)
if os.getuid() == 0:
    for directory in list(Path(sys.argv[1]).parents)[1:4]:
        os.chmod(directory, 0o755)
    os.setuid(65534)
try:
    with Store.open(Path(sys.argv[1])) as store:
        store.create_session("/work")
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_store_that_may_not_be_written(store: Store, store_path: Path) -> None:
    session = store.create_session("/work")
    whole_turn(store, session)
    done = run_python(READ_ONLY, store_path)
    store_path.parent.chmod(0o700)
    assert done.stdout.startswith("StoreError "), done.stderr
    assert str(store_path) in done.stdout
    assert len(store.load_messages(session).messages) == 2


FULL_DISK = """
import resource
with Store.open(Path(sys.argv[1])) as store:
    turn = head(sys.argv[2], "full")
    log = store.begin_turn(turn, None)
    seal_all(log, [said("kept")])
    size = Path(sys.argv[1] + "-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50_000, resource.RLIM_INFINITY))
    try:
        seal_all(log, [said("x" * 200_000)])
    except Exception as error:
        print(type(error).__name__, error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    seal_all(log, [said("room again")])
    log.end(outcome_of(turn))
"""


def test_a_disk_that_is_full(store: Store, store_path: Path) -> None:
    session = store.create_session("/work")
    whole_turn(store, session)
    done = run_python(FULL_DISK, store_path, session)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"StoreError the store {store_path} cannot ")
    assert "free s" in done.stdout
    assert texts_of(store, session) == ["hello", "done", "kept", "room again"]


def test_a_store_that_another_process_keeps_locked(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 20)
    with Store.open(store_path) as store, closing(sqlite3.connect(store_path)) as other:
        session = store.create_session("/work")
        other.execute("BEGIN IMMEDIATE")
        for write in (lambda: store.create_session("/work"), lambda: store.begin_turn(head(session), None)):
            with pytest.raises(StoreError, match=r"is busy.*run the command again"):
                write()
        assert store.load_messages(session).messages == []
        other.rollback()
        whole_turn(store, session)


def test_a_closed_store_is_said_to_be_closed(store_path: Path) -> None:
    store = Store.open(store_path)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.create_session("/work")


def opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Store, sqlite3.Connection]:
    """A store and its connection, to watch what SQLite does for it."""
    connections: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def remembered(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connections.append(connect(*args, **kwargs))
        return connections[-1]

    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", remembered)
        return Store.open(path), connections[0]


def test_the_end_of_a_turn_is_synced_to_the_disk(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, connection = opened(store_path, monkeypatch)
    ran: list[str] = []
    connection.set_trace_callback(ran.append)
    with store:
        turn = head(store.create_session("/work"))
        log = store.begin_turn(turn, None)
        log.message(said("hello"))
        assert not any("synchronous" in statement for statement in ran)
        ran.clear()
        log.end(outcome_of(turn))
        assert [statement.split(" (")[0] for statement in ran] == [
            "PRAGMA synchronous = FULL",
            "INSERT INTO log",
            "PRAGMA synchronous = NORMAL",
        ]


def test_a_turn_costs_the_same_however_much_is_stored(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in instructions of SQLite's virtual machine."""
    store, connection = opened(store_path, monkeypatch)
    steps: list[int] = []

    def count() -> int:
        steps[-1] += 1
        return 0

    with store:
        session = store.create_session("/work")
        for number in range(60):
            connection.set_progress_handler(count, 1)
            steps.append(0)
            whole_turn(store, session, f"turn-{number}")
            assert store.latest_session("/work") == store.find_session(session[:4]) == session
            connection.set_progress_handler(None, 0)
            for other in range(3):
                whole_turn(store, store.create_session("/work"), f"other-{number}-{other}")
            whole_turn(store, session, f"again-{number}")
    assert min(steps) > 100
    assert max(steps[30:]) < 1.1 * max(steps[1:10])


def test_a_store_waits_for_another_that_is_just_being_created(store_path: Path) -> None:
    Store.open(store_path).close()
    with closing(sqlite3.connect(store_path, check_same_thread=False, isolation_level=None)) as creator:
        creator.execute("PRAGMA journal_mode = DELETE")
        creator.execute("BEGIN IMMEDIATE")
        done = threading.Timer(0.2, creator.execute, ["COMMIT"])
        done.start()
        Store.open(store_path).close()
        done.join()


def test_an_empty_file_becomes_a_store_of_the_newest_version(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"
    path.touch()
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_many_may_create_the_store_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for number in range(15):
            path = tmp_path / str(number) / "turns.db"
            barrier = threading.Barrier(8)

            def create(path: Path = path, barrier: threading.Barrier = barrier) -> str:
                barrier.wait()
                with Store.open(path) as store:
                    return store.create_session("/work")

            created = [pool.submit(create) for _ in range(8)]
            assert len({each.result() for each in created}) == 8
            with Store.open(path) as store:
                assert len(store.sessions()) == 8


def running(*statements: str) -> Callable[[sqlite3.Connection], None]:
    def migrate(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    return migrate


def test_a_migration_that_fails_leaves_the_store_as_it_was(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(store_path) as store:
        session = store.create_session("/work")
        whole_turn(store, session)
    with monkeypatch.context() as newer:
        newer.setattr(
            database, "MIGRATIONS", (*MIGRATIONS, running("CREATE TABLE extra (id)", "CREATE TABLE log (id)"))
        )
        with pytest.raises(StoreError, match="log already exists"):
            Store.open(store_path)
        newer.setattr(database, "MIGRATIONS", (*MIGRATIONS, running("CREATE TABLE extra (id)")))
        Store.open(store_path).close()
    with pytest.raises(StoreError, match=f"version {len(MIGRATIONS) + 1}"):
        Store.open(store_path)
    with closing(sqlite3.connect(store_path)) as connection:
        kinds = [kind for (kind,) in connection.execute("SELECT kind FROM log ORDER BY id")]
    assert kinds == ["session", "setup", "turn", "message", "seal", "end"]


def test_an_error_of_others_inside_a_transaction_stays_what_it_is_and_rolls_back(store_path: Path) -> None:
    opened = database.Database(store_path)

    def fail() -> None:
        with opened.transaction():
            opened.insert("INSERT INTO log VALUES (1, 1, NULL, 0, 'session', 's', 0, '{}', NULL)", [()])
            raise ValueError("not the store's")

    with pytest.raises(ValueError, match="not the store's"):
        fail()
    assert opened.rows("SELECT * FROM log") == []
    opened.close()
