"""`turngraph turn resume` after SIGKILL: it takes all it needs from the record, and says what it does not know."""

from __future__ import annotations

import os
import signal
import time

import pytest

from ..scripted.harness import PATIENCE
from ..scripted.replies import Hang, say
from .commands import ANSWER, command, perform, work
from .points import ROLES
from .stage import Stage, said_by


@pytest.mark.parametrize("role", ROLES)
def test_killed_and_resumed(stage: Stage, role: str) -> None:
    point = "unrecorded:execute:bash" if role == "execute" else f"unrecorded:{role}"
    stage.server.tell(*work())
    left, _ = perform(stage, command(stage, "run", "Do the work.", at=point))
    assert left.killed
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
    job = command(stage, "turn", "resume", turn[:8])
    left, document = perform(stage, job)
    assert (left.code, document["outcome"], document["answer"]) == (0, "completed", ANSWER)
    stage.assert_nothing_twice()
    assert {n for _, n in stage.begun} == {1, 2, 3}
    unknown = [ran for ran in document["tool_calls"] if ran["status"] == "unknown"]
    assert len(unknown) == (role == "execute")
    assert ("may have happened" in said_by(job)) == (role == "execute")
    with stage.store() as store:
        assert store.turns(document["session_id"]) == [turn]


def test_what_is_busy_is_said_with_exit_code_7(stage: Stage) -> None:
    stage.server.tell(Hang(say("Later.")))
    owner = stage.start(command(stage, "run", "Do the work."))
    assert stage.server.hanging.wait(PATIENCE)
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
    for words in (("turn", "resume", turn), ("run", "And now?", "--continue")):
        job = command(stage, *words)
        left, document = perform(stage, job)
        assert (left.code, document["outcome"]) == (7, "session_busy")
        (line,) = said_by(job).splitlines()
        assert f"process {owner} on" in line
        assert "since" in line
    os.kill(owner, signal.SIGKILL)
    assert stage.wait(owner).killed
    assert len(stage.server.requests) == 1


def test_a_stale_owner_says_that_it_lost_its_session(stage: Stage) -> None:
    stage.server.tell(*work())
    job = command(stage, "run", "Do the work.", at="before:execute", then="SIGSTOP")
    pid = stage.start(job)
    assert stage.wait(pid).stopped
    time.sleep(0.01)
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
        session = store.turn_body(turn).head.session_id
    stage.server.tell(say("Something else."))
    assert stage.finish(session=session, prompt="And now?", lease=0.001).answer == "Something else."
    os.kill(pid, signal.SIGCONT)
    assert stage.wait(pid).code == 1
    assert "no longer owns session" in said_by(job)
    assert stage.begun == {}
