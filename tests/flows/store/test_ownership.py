"""A session belongs to one running turn: a living owner is respected, a dead one is taken over from."""

from __future__ import annotations

import gc
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic_ai.messages import ToolCallPart
from turngraph.flows.store import Store, TurnBody, owner
from turngraph.flows.store import turns as turns_module
from turngraph.flows.store.owner import Condition, condition_of, this_process
from turngraph.nodes.deps import Visit
from turngraph.nodes.errors import SessionBusy, StoreError, UnknownSession
from turngraph.nodes.slots import Slot
from turngraph.tools.effects import Effect

from ..stored import filled, head, outcome_of, python_process, said, seal_all, texts_of, whole_turn

VISIT = Visit(number=1, role="persist", cls="m:Persist", iteration=1, to="end", duration_ms=0.5)

AT_WORK = """
store = Store.open(Path(sys.argv[1]))
log = store.begin_turn(head(sys.argv[2], "theirs"), None)
call = ToolCallPart("write", {"path": "a"}, "c1")
seal_all(log, [said("sealed"), answered("sealed")])
log.message(ModelResponse(parts=[call]))
log.intent(2, filled(0, call))
log.result(2, filled(0, call, "kept"))
print("ready", flush=True)
sys.stdin.readline()
log.close()
print("released", flush=True)
sys.stdin.readline()
"""


def epochs(store: Store, *turns: str) -> list[int]:
    bodies = [store.journal(turn)[0].body for turn in turns]
    return [body.epoch for body in bodies if isinstance(body, TurnBody)]


def test_a_running_turn_of_this_process_keeps_its_session(store: Store, store_path: Path) -> None:
    session = store.create_session("/work")
    with store.begin_turn(head(session, "one"), None), Store.open(store_path) as again:
        for other in (store, again):
            with pytest.raises(SessionBusy, match=rf"{session} .* process {os.getpid()} "):
                other.begin_turn(head(session, "two"), None)
    with store.begin_turn(head(session, "two"), None):
        pass
    assert epochs(store, "one", "two") == [1, 2]
    assert store.journal("one")[-1].kind == "release"


def test_a_store_by_another_name_is_the_same_store(store: Store, store_path: Path, tmp_path: Path) -> None:
    session = store.create_session("/work")
    (tmp_path / "alias").symlink_to(store_path.parent)
    with (
        store.begin_turn(head(session, "one"), None),
        Store.open(tmp_path / "alias" / store_path.name) as alias,
        pytest.raises(SessionBusy),
    ):
        alias.begin_turn(head(session, "two"), None)


def test_an_end_and_a_forgotten_writer_free_the_session(store: Store) -> None:
    session = store.create_session("/work")
    first = head(session, "one")
    log = store.begin_turn(first, None)
    log.end(outcome_of(first))
    forgotten = store.begin_turn(head(session, "two"), None)
    del forgotten
    gc.collect()
    store.begin_turn(head(session, "three"), None).close()
    assert epochs(store, "one", "two", "three") == [1, 2, 3]


def test_after_its_end_a_turn_takes_nothing(store: Store) -> None:
    turn = head(store.create_session("/work"))
    log = store.begin_turn(turn, None)
    log.end(outcome_of(turn))
    whole_turn(store, turn.session_id, "next")
    for write in (lambda: log.visit(VISIT, {}), lambda: log.message(said("more"))):
        with pytest.raises(StoreError, match="turn-1 has ended"):
            write()
    log.close()
    with pytest.raises(StoreError, match="closed"):
        log.visit(VISIT, {})
    assert [record.kind for record in store.journal("turn-1")] == ["turn", "end"]


def test_what_nothing_depends_on_is_committed_with_what_something_does(store: Store) -> None:
    """Visits and intents to read wait for the next row; an intent to change something is safe at once."""
    turn = head(store.create_session("/work"))
    with store.begin_turn(turn, None) as log:
        log.visit(VISIT, {})
        log.intent(1, Slot(0, ToolCallPart("read", {}, "c1"), effect=Effect.READ_ONLY))
        assert [record.kind for record in store.journal("turn-1")] == ["turn"]
        log.intent(1, Slot(1, ToolCallPart("write", {}, "c2"), effect=Effect.WRITE))
        assert [record.kind for record in store.journal("turn-1")] == ["turn", "visit", "intent", "intent"]
        log.visit(VISIT, {})
    assert [record.kind for record in store.journal("turn-1")][4:] == ["visit", "release"]


def test_another_process_keeps_its_session_and_death_frees_it(store: Store, store_path: Path) -> None:
    session = store.create_session("/work")
    with python_process(AT_WORK, store_path, session) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(SessionBusy, match=f"process {process.pid} "):
            store.begin_turn(head(session, "mine"), None)
        whole_turn(store, store.create_session("/work"), "elsewhere")
        process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and a zombie: nobody has reaped it
        history = store.load_messages(session)
        assert [type(message).__name__ for message in history.messages] == ["ModelRequest", "ModelResponse"]
        kinds = [record.kind for record in store.journal("theirs")]
        assert kinds == ["turn", "message", "message", "seal", "message", "intent", "result"]
        whole_turn(store, session, "mine")
    assert epochs(store, "theirs", "mine") == [1, 2]


def test_closing_frees_the_session_for_other_processes(store: Store, store_path: Path) -> None:
    session = store.create_session("/work")
    with python_process(AT_WORK, store_path, session) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "released\n"
        whole_turn(store, session, "mine")


def test_a_turn_that_lost_its_session_writes_no_more(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn of another machine cannot be looked at: silent for long, it loses its session, and is told so."""
    turn = head(store.create_session("/work"), "theirs")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(socket, "gethostname", lambda: "elsewhere")
        elsewhere.setattr(owner, "_boot", lambda: "another boot")
        log = store.begin_turn(turn, None)
    with pytest.raises(SessionBusy, match="on elsewhere since"):
        store.begin_turn(head(turn.session_id, "mine"), None)
    sealed = log.message(said("hello"))
    log.seal(1, [sealed])
    monkeypatch.setattr(turns_module, "FOREIGN_SILENCE", timedelta(0))
    with store.begin_turn(head(turn.session_id, "mine"), None) as mine:
        call = ToolCallPart("write", {}, "c1")
        writes: list[Callable[[], object]] = [
            lambda: log.message(said("more")),
            lambda: log.intent(1, filled(0, call)),
            lambda: log.result(1, filled(0, call)),
            lambda: log.repair("mended"),
            lambda: log.prune(1),
            lambda: log.compact(sealed, 1),
            lambda: log.tree("0" * 40),
            lambda: log.seal(1, [sealed]),
            lambda: log.end(outcome_of(turn)),
        ]
        log.visit(VISIT, {})
        for write in writes:
            with pytest.raises(StoreError, match="no longer owns session"):
                write()
        log.close()
        seal_all(mine, [said("mine")])
    assert [record.kind for record in store.journal("theirs")] == ["turn", "message", "seal"]
    assert texts_of(store, turn.session_id) == ["hello", "mine"]


def test_a_process_id_that_was_used_again_is_not_the_owner() -> None:
    me = this_process()
    assert condition_of(me) is Condition.RUNNING
    assert condition_of(replace(me, started="1")) is Condition.GONE
    assert condition_of(replace(me, boot="another boot")) is Condition.GONE
    assert condition_of(replace(me, host="renamed")) is Condition.RUNNING
    assert condition_of(replace(me, host="elsewhere", boot="another boot")) is Condition.UNSEEN
    assert condition_of(replace(me, namespace=1)) is Condition.UNSEEN
    assert condition_of(replace(me, pid=2**22 + 1)) is Condition.GONE


def test_a_turn_needs_its_session_and_an_id_of_its_own(store: Store) -> None:
    with pytest.raises(UnknownSession, match="turngraph session list"):
        store.begin_turn(head("0123456789ab"), None)
    whole_turn(store, store.create_session("/work"), "twice")
    with pytest.raises(StoreError, match="twice"):
        store.begin_turn(head(store.create_session("/work"), "twice"), None)


def test_a_slot_without_a_result_is_refused(store: Store) -> None:
    with (
        store.begin_turn(head(store.create_session("/work")), None) as log,
        pytest.raises(StoreError, match=r"call 0 \(write\)"),
    ):
        log.result(1, Slot(0, ToolCallPart("write", {}, "c1")))


BUSY_WRITER = """
with Store.open(Path(sys.argv[1])) as store:
    session = store.create_session("/work")
    print(session, flush=True)
    sys.stdin.readline()
    for number in range(15):
        whole_turn(store, session, f"{session}-{number}", str(number))
print("done", flush=True)
"""


def test_two_processes_write_their_sessions_at_once(store_path: Path) -> None:
    """They also create the store at once."""
    with python_process(BUSY_WRITER, store_path) as one, python_process(BUSY_WRITER, store_path) as other:
        sessions: list[str] = []
        for process in (one, other):
            assert process.stdout is not None
            sessions.append(process.stdout.readline().strip())
        for process in (one, other):
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        assert [process.communicate(timeout=60)[0] for process in (one, other)] == ["done\n"] * 2
    with Store.open(store_path) as store:
        for session in sessions:
            assert len(store.load_messages(session).messages) == 30
