"""An owner that is stopped past its lease loses its turn; when it wakes up it changes nothing any more."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from turngraph.nodes.outcome import Outcome

from ..scripted.replies import say
from .conftest import Straight
from .job import Job, Report
from .judging import assert_same_but_unknown, kept
from .points import ROLES, WHERE
from .stage import Left, Stage, report_of, under_way
from .story import older, story
from .test_matrix import chosen

LEASE = 0.05


def stopped_at(stage: Stage, at: str, nth: int, **how: Any) -> tuple[Job, int]:
    """A process that stopped itself at a point, longer ago than its lease."""
    job = stage.job(at=at, nth=nth, then="SIGSTOP", **how)
    pid = stage.start(job)
    assert stage.wait(pid).stopped
    time.sleep(LEASE)
    return job, pid


def woken(stage: Stage, job: Job, pid: int) -> tuple[Left, Report | None]:
    os.kill(pid, signal.SIGCONT)
    return stage.wait(pid), report_of(job)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("where", WHERE)
def test_a_stale_owner_is_fenced(stage: Stage, straight: Callable[[int], Straight], where: str, role: str) -> None:
    seed = (WHERE.index(where) + ROLES.index(role)) % 3
    report, whole, _ = straight(seed)
    stage.server.tell(*story(seed))
    # Not inside a transaction, which nobody could end for a process that is stopped there.
    passed = {point: times for point, times in report.passed.items() if not point.endswith("inserted")}
    point, nth = chosen(passed, where, role, seed)
    job, pid = stopped_at(stage, point, nth, session=older(stage, seed))
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
        journal = store.journal(turn)
    unknown, before = under_way(journal), len(stage.effects)

    resumed = stage.finish(turn=turn, lease=LEASE)
    with stage.store() as store:
        now = kept(store, turn)
        rows = [record.id for record in store.journal(turn)]
    left, stale = woken(stage, job, pid)
    stage.assert_nothing_twice()
    if journal[-1].kind == "end":
        assert (left.code, resumed.outcome) == (Outcome(report.outcome).exit_code, "usage_error")
        return
    assert resumed.came_to(len(unknown)) == report.came_to()
    assert_same_but_unknown(whole.history, now.history, unknown)
    assert left.code == 1
    assert stale is not None
    assert (stale.outcome, stale.saved) == ("internal_error", False)
    assert "no longer owns session" in (stale.error or "")
    begun = {
        f"call-{n}" for what, name, n, who in stage.effects[before:] if (what, who) == ("begin", pid) if name != "look"
    }
    assert begun <= unknown, "a call began after another process had taken the turn over"
    with stage.store() as store:
        assert [record.id for record in store.journal(turn)] == rows
        assert kept(store, turn) == now


def test_the_sessions_next_turn_takes_over_too(stage: Stage) -> None:
    stage.server.tell(*story(0))
    job, pid = stopped_at(stage, "before:execute", 1)
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
        session = store.turn_body(turn).head.session_id
    stage.server.tell(say("Something else."))
    assert stage.finish(session=session, prompt="And now?", lease=LEASE).outcome == "completed"
    with stage.store() as store:
        history = store.load_messages(session)
    left, stale = woken(stage, job, pid)
    assert left.code == 1
    assert stale is not None
    assert "no longer owns session" in (stale.error or "")
    assert {name for _, name, _, _ in stage.effects} <= {"look"}
    with stage.store() as store:
        assert store.load_messages(session) == history


def test_a_stopped_owner_keeps_its_turn_for_its_lease(stage: Stage) -> None:
    stage.server.tell(*story(0))
    job, pid = stopped_at(stage, "before:execute", 1)
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
    other, busy = stage.do(turn=turn, lease=600)
    assert other.code == 7
    assert busy is not None
    assert f"process {pid} " in (busy.error or "")
    assert "which is stopped" in (busy.error or "")
    left, report = woken(stage, job, pid)
    assert left.code == 5
    assert report is not None
    assert report.outcome == "refused"
