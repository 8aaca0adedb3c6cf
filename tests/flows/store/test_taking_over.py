"""A turn that was cut off is taken over by one process, and whoever had it before writes no more."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from turngraph.flows.store import Origin, ResumeBody, SealBody, Store, TurnBody
from turngraph.nodes.errors import SessionBusy, StoreError, UsageError
from turngraph.nodes.outcome import TurnResult

from ..stored import answered, filled, head, outcome_of, python_process, said, seal_all, texts_of, whole_turn

AT_WORK = """
store = Store.open(Path(sys.argv[1]))
asked = said("hello")
log = store.begin_turn(head(sys.argv[2], "theirs"), asked)
call = ToolCallPart("write", {"path": "a"}, "c1")
reply = log.message(ModelResponse(parts=[TextPart("I write."), call]))
log.intent(1, filled(0, call))
print("ready", flush=True)
sys.stdin.readline()
try:
    log.result(1, filled(0, call))
except Exception as error:
    print(type(error).__name__, error, flush=True)
sys.stdin.readline()
"""


def begun(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)


def wake(process: subprocess.Popen[str]) -> str:
    """Let a stopped process go on writing, and tell what it says."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.send_signal(signal.SIGCONT)
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline()


def test_a_turn_of_a_killed_process_goes_on_where_it_was(store: Store, store_path: Path) -> None:
    session = store.create_session("/work")
    with python_process(AT_WORK, store_path, session) as process:
        begun(process)
        assert store.unfinished_turn(session) == "theirs"
        with pytest.raises(SessionBusy, match=f"process {process.pid} "):
            store.take_over("theirs")
        process.kill()
        process.wait()
    body = store.turn_body("theirs")
    call = ToolCallPart("write", {"path": "a"}, "c1")
    with store.take_over("theirs") as log:
        assert body.prompt is not None
        assert log.message(body.prompt) == body.prompt_row
        reply = store.journal("theirs")[1].id
        result = log.result(1, filled(0, call))
        log.seal(1, [body.prompt_row, reply, [result]])
        log.end(outcome_of(body.head))
    rows = store.journal("theirs")
    assert [row.kind for row in rows] == ["turn", "message", "intent", "resume", "result", "seal", "end"]
    assert isinstance(rows[3].body, ResumeBody)
    assert (rows[3].body.epoch, rows[3].body.owner.pid) == (2, os.getpid())
    assert isinstance(rows[5].body, SealBody)
    assert rows[5].body.replies == (reply,)
    assert "call" not in str(rows[4].body).partition("part=")[0]
    assert texts_of(store, session) == ["hello", "I write."]
    assert store.unfinished_turn(session) is None


def test_a_stopped_process_keeps_its_session_for_a_while(store: Store, store_path: Path) -> None:
    session = store.create_session("/work")
    with python_process(AT_WORK, store_path, session) as process:
        begun(process)
        stop(process)
        for take in (lambda: store.take_over("theirs"), lambda: store.begin_turn(head(session, "mine"), None)):
            with pytest.raises(
                SessionBusy, match=rf"process {process.pid} .*stopped: .*take over from \d\d:\d\d:\d\d on"
            ):
                take()


@pytest.mark.parametrize("again", [True, False], ids=["resumed", "another turn"])
def test_a_stopped_process_that_wakes_up_too_late_writes_no_more(store: Store, store_path: Path, again: bool) -> None:
    session = store.create_session("/work")
    with (
        python_process(AT_WORK, store_path, session) as process,
        Store.open(store_path, lease=timedelta(0)) as impatient,
    ):
        begun(process)
        with pytest.raises(SessionBusy, match="wait for it"):  # it runs: no lease ends that
            impatient.take_over("theirs")
        stop(process)
        taken = impatient.take_over("theirs") if again else impatient.begin_turn(head(session, "mine"), None)
        with taken as log:
            assert "StoreError turn theirs no longer owns session" in wake(process)
            seal_all(log, [said("mine")])
    kinds = [row.kind for row in store.journal("theirs")]
    assert kinds[:3] == ["turn", "message", "intent"]
    assert "result" not in kinds
    assert texts_of(store, session) == ["mine"]


def test_a_writer_of_this_process_loses_its_turn_too(store: Store) -> None:
    session = store.create_session("/work")
    first = store.begin_turn(head(session), said("hello"))
    first.close()
    with store.take_over("turn-1") as second:
        with pytest.raises(SessionBusy, match=f"process {os.getpid()} "):
            store.take_over("turn-1")
        seal_all(second, [answered("mine")])
    with store.take_over("turn-1") as third:
        with pytest.raises(StoreError, match="closed"):
            second.message(said("late"))
        seal_all(third, [answered("last")])
    assert [row.body.epoch for row in store.journal("turn-1") if isinstance(row.body, TurnBody | ResumeBody)] == [
        1,
        2,
        3,
    ]


def ended(store: Store, session: str) -> TurnResult:
    return whole_turn(store, session)


def overtaken(store: Store, session: str) -> TurnResult:
    store.begin_turn(head(session), None).close()
    return whole_turn(store, session, "turn-2")


def unknown(store: Store, session: str) -> None:
    store.begin_turn(head(session, "turn-0"), None).close()


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (ended, "turn turn-1 has ended.*begin a new turn"),
        (overtaken, "turn turn-2 of session .* began after it; fork"),
        (unknown, "no turn 'turn-1' .*turngraph turn list"),
    ],
)
def test_a_turn_that_cannot_go_on_says_why(store: Store, before: Callable[[Store, str], object], why: str) -> None:
    before(store, store.create_session("/work"))
    with pytest.raises(UsageError, match=why):
        store.take_over("turn-1")


def test_a_forked_turn_shares_its_prompt(store: Store, store_path: Path) -> None:
    session = store.create_session("/work")
    asked = said("hello")
    with store.begin_turn(head(session), asked) as log:
        row = log.message(asked)
        log.seal(1, [row, log.message(ModelResponse(parts=[TextPart("one")]))])
    fork = store.create_session("/work", after=store.journal("turn-1")[0].id)
    with store.begin_turn(head(fork, "turn-2"), None, origin=Origin("turn-1", row), prompt_row=row) as log:
        assert log.message(asked) == row
        seal_all(log, [asked, answered("two")])
    body = store.turn_body("turn-2")
    assert (body.prompt, body.prompt_row, body.said, body.origin) == (asked, row, "hello", Origin("turn-1", row))
    assert texts_of(store, fork) == ["hello", "two"]
    with closing(sqlite3.connect(store_path)) as connection:
        assert connection.execute("SELECT count(*) FROM log WHERE content LIKE '%hello%'").fetchone() == (1,)
