"""Two processes want one turn, or one session: one has it, and the other is told who and since when."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import replace

import pytest
from turngraph.flows.store import turns as turns_module
from turngraph.flows.store.owner import this_process

from ..flows.stored import head, said
from ..scripted.harness import PATIENCE
from ..scripted.replies import Hang, say
from .job import Job, Report
from .stage import Stage, calls_begun, report_of
from .story import story

ROUNDS = 3
SINCE = r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d; wait for it, stop it, or use another session"


def race(stage: Stage, *jobs: Job) -> tuple[int, Job, Report]:
    """Start all at once: the process that goes on, its job, and what the first to give up said."""
    running = {stage.start(job): job for job in jobs}
    pid, left = stage.first_of(*running)
    report = report_of(running.pop(pid))
    assert report is not None
    assert left.code in (2, 7), report
    ((winner, job),) = running.items()
    return winner, job, report


def assert_busy(report: Report, winner: int) -> None:
    assert report.outcome == "session_busy"
    assert re.search(rf"process {winner} on \S+ {SINCE}$", report.error or "")


def kill(stage: Stage, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    assert stage.wait(pid).killed


def killed_at(stage: Stage, point: str) -> tuple[str, str]:
    """A turn whose process was killed, and its session."""
    left, _ = stage.do(at=point)
    assert left.killed
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
        return turn, store.turn_body(turn).head.session_id


def kinds_in(stage: Stage, turn: str) -> list[str]:
    with stage.store() as store:
        return [record.kind for record in store.journal(turn)]


@pytest.mark.parametrize("point", ["before:stream", "middle:execute:look", "unrecorded:execute:run"])
def test_a_turn_is_resumed_twice_at_once(stage: Stage, point: str) -> None:
    """The winner hangs in a request to the model until the other has given up."""
    hang = Hang(say("Later."))
    stage.server.tell(*[hang] if point == "before:stream" else [story(0)[0], hang])
    turn, _ = killed_at(stage, point)
    for number in range(1, ROUNDS + 1):
        winner, _, report = race(stage, stage.job(turn=turn), stage.job(turn=turn))
        assert_busy(report, winner)
        kill(stage, winner)
        assert kinds_in(stage, turn).count("resume") == number
    stage.assert_nothing_twice()


def test_a_session_is_wanted_twice_at_once(stage: Stage) -> None:
    """The loser leaves nothing, and it has asked for nothing."""
    with stage.store() as store:
        session = store.create_session(str(stage.folder))
    for number in range(1, ROUNDS + 1):
        stage.server.tell(Hang(say("Later.")))
        winner, job, report = race(
            stage, *(stage.job(session=session, prompt=f"Do {one}, {number}.") for one in ("this", "that"))
        )
        assert_busy(report, winner)
        assert stage.server.hanging.wait(PATIENCE)
        stage.server.hanging.clear()
        kill(stage, winner)
        with stage.store() as store:
            turns = store.turns(session)
            assert len(turns) == number
            assert store.turn_body(turns[-1]).said == job.prompt
        assert len(stage.server.requests) == number


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_turn_is_resumed_while_its_session_goes_on(stage: Stage, number: int) -> None:
    """Whoever comes first: the turn is resumed, or it is closed and can only be forked."""
    hang = Hang(say("Later."))
    stage.server.tell(story(0)[0], hang, hang)
    turn, session = killed_at(stage, "unrecorded:execute:run")
    resuming, going_on = stage.job(turn=turn), stage.job(session=session, prompt="And now?")
    winner, job, report = race(stage, *((resuming, going_on) if number % 2 else (going_on, resuming)))
    if job is resuming or report.outcome == "session_busy":
        assert_busy(report, winner)
    else:
        assert re.search(f"turn {turn} (has ended|cannot go on)", report.error or "")
    if job is going_on:  # it may be busy with closing the turn so far
        assert stage.server.hanging.wait(PATIENCE)
    kill(stage, winner)
    stage.assert_nothing_twice()
    with stage.store() as store:
        turns = store.turns(session)
        assert len(turns) == (1 if job is resuming else 2)
        assert len(calls_begun(store.journal(turn))) == len([call for call in stage.begun if call[0] != "look"])


@pytest.mark.parametrize("at_work", [True, False], ids=["still at work", "done"])
def test_a_killed_turn_is_closed_twice_at_once(stage: Stage, at_work: bool) -> None:
    """One process has seen that it must close the turn, and another was faster: what counts is who runs now."""
    stage.server.tell(story(0)[0])
    _, session = killed_at(stage, "before:execute")
    late = stage.job(session=session, prompt="Do that.", at="before:abandon", then="SIGSTOP")
    pid = stage.start(late)
    assert stage.wait(pid).stopped
    stage.server.tell(Hang(say("Later.")) if at_work else say("Done."), say("Done, too."))
    faster = stage.start(stage.job(session=session, prompt="Do this."))
    if at_work:
        assert stage.server.hanging.wait(PATIENCE)
    else:
        assert stage.wait(faster).code == 0
    os.kill(pid, signal.SIGCONT)
    left = stage.wait(pid)
    report = report_of(late)
    assert report is not None
    if at_work:
        assert left.code == 7
        assert_busy(report, faster)
        kill(stage, faster)
    else:
        assert (left.code, report.answer) == (0, "Done, too.")
        assert "\n".join(stage.server.last.prompts).count("left without an answer") == 1


def test_while_a_turn_runs_its_session_takes_nobody(stage: Stage) -> None:
    stage.server.tell(Hang(say("Later.")))
    owner = stage.start(stage.job())
    assert stage.server.hanging.wait(PATIENCE)
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
        session = store.turn_body(turn).head.session_id
    before = kinds_in(stage, turn)
    for how in ({"turn": turn}, {"session": session}):
        left, report = stage.do(**how)
        assert left.code == 7
        assert report is not None
        assert_busy(report, owner)
    kill(stage, owner)
    assert kinds_in(stage, turn) == before
    assert len(stage.server.requests) == 1


def test_a_process_id_that_was_used_again_blocks_nobody(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner's id is that of a process that lives, and began at another time."""
    with stage.store() as store, monkeypatch.context() as patch:
        patch.setattr(turns_module, "this_process", lambda: replace(this_process(), started="1"))
        session = store.create_session(str(stage.folder))
        turn = head(session, "a" * 32, workdir=str(stage.folder))
        log = store.begin_turn(turn, said("Do the work."))
        log.message(said("unsealed"))
        del log
    stage.server.tell(say("Done."))
    assert stage.finish(session=session, prompt="And now?").answer == "Done."
    assert "left without an answer" in "\n".join(stage.server.last.prompts)
