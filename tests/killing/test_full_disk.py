"""The disk is full from some point on, or the store becomes read-only: what was stored stays, and the turn goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from ..scripted.replies import say
from .commands import command, perform, work
from .conftest import Straight
from .judging import assert_same_but_unknown, kept
from .points import FULL_DISK, ROLES, WHERE
from .stage import Stage, under_way
from .story import story
from .test_matrix import chosen

NOBODY = 65534


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("where", WHERE)
def test_the_disk_fills_up(stage: Stage, straight: Callable[[int], Straight], where: str, role: str) -> None:
    """No row is written from that point on, not even the end, so that the turn can be resumed when there is room."""
    seed = (WHERE.index(where) + ROLES.index(role)) % 2
    report, whole, _ = straight(seed)
    stage.server.tell(*story(seed))
    # What is written to the last row has its end, and needs no room.
    passed = {point: times - (point == "seal:persist:committed") for point, times in report.passed.items()}
    point, nth = chosen(passed, where, role, seed)
    full = stage.finish(at=point, nth=nth, then=FULL_DISK)
    assert (full.outcome, full.saved) == ("internal_error", False)
    assert str(stage.store_path) in (full.error or "")
    assert "\n" not in (full.error or "")
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
        journal = store.journal(turn)
    assert journal[-1].kind != "end"
    unknown = under_way(journal)

    resumed = stage.finish(turn=turn)
    stage.assert_nothing_twice()
    assert resumed.came_to(len(unknown)) == report.came_to()
    with stage.store() as store:
        now = kept(store, turn)
    assert_same_but_unknown(whole.history, now.history, unknown)


def test_the_command_line_says_it_in_one_sentence(stage: Stage) -> None:
    stage.server.tell(*work())
    job = command(stage, "run", "Do the work.", at="before:execute", then=FULL_DISK)
    left, document = perform(stage, job)
    assert (left.code, document["outcome"], document["saved"]) == (1, "internal_error", False)
    assert str(stage.store_path) in document["error"]["message"]
    stage.server.tell(say("There is room."))
    left, document = perform(stage, command(stage, "run", "Go on.", "--continue"))
    assert (left.code, document["answer"]) == (0, "There is room.")


@contextmanager
def read_only(stage: Stage) -> Generator[None]:
    """Nobody may write the store, and whoever is not its owner may go where it is."""
    modes = {directory: directory.stat().st_mode for directory in stage.folder.parents}
    closed = {directory: mode for directory, mode in modes.items() if mode & 0o011 != 0o011}
    closed |= {path: path.stat().st_mode for path in (stage.folder, stage.store_path.parent, stage.store_path)}
    try:
        for directory, mode in closed.items():
            directory.chmod(mode | 0o011)
        stage.folder.chmod(0o777)
        stage.store_path.chmod(0o444)
        stage.store_path.parent.chmod(0o555)
        yield
    finally:
        for path, mode in closed.items():
            path.chmod(mode)


def test_the_store_becomes_read_only(stage: Stage) -> None:
    stage.server.tell(*story(0))
    left, _ = stage.do(at="unrecorded:execute:run")
    assert left.killed
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
        session = store.turn_body(turn).head.session_id
        before = kept(store, turn)
    begun = stage.begun
    with read_only(stage):
        for how in ({"turn": turn}, {"session": session}):
            left, report = stage.do(uid=NOBODY if os.getuid() == 0 else None, **how)
            assert left.code == 1
            assert report is not None
            assert (report.outcome, report.saved) == ("internal_error", False)
            assert str(stage.store_path) in (report.error or "")
            assert "\n" not in (report.error or "")
    assert stage.begun == begun
    with stage.store() as store:
        assert kept(store, turn) == before
    assert stage.finish(turn=turn).saved
    stage.assert_nothing_twice()
