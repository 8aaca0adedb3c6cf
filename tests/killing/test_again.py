"""Killed, resumed, killed again: still nothing is done twice; also at the very end of a turn that fails."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from .conftest import Straight
from .judging import assert_same_but_unknown, kept
from .stage import Stage, under_way
from .story import SEEDS, older, story


@pytest.mark.parametrize("seed", range(9))
def test_killed_twice(stage: Stage, straight: Callable[[int], Straight], seed: int) -> None:
    """The second point is drawn from those that the resumed turn passes, which a copy of it tells."""
    draw = random.Random(seed)
    tale = seed % len(SEEDS)
    report, whole, _ = straight(tale)
    stage.server.add(*story(tale))
    passed = {point: times for point, times in report.passed.items() if not point.startswith("seal:persist")}
    point = draw.choice(sorted(passed))
    left, _ = stage.do(session=older(stage, tale), at=point, nth=draw.randint(1, passed[point]))
    assert left.killed
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
        unknown = under_way(store.journal(turn))

    ahead = stage.copy("ahead").finish(turn=turn).passed
    point = draw.choice(sorted(ahead))
    left, _ = stage.do(turn=turn, at=point, nth=draw.randint(1, ahead[point]))
    assert left.killed
    with stage.store() as store:
        journal = store.journal(turn)
        unknown |= under_way(journal)
    resumed = stage.finish(turn=turn)
    stage.assert_nothing_twice()
    if journal[-1].kind != "end":
        assert resumed.came_to(len(unknown)) == report.came_to()
    with stage.store() as store:
        now = kept(store, turn)
    assert_same_but_unknown(whole.history, now.history, unknown)
    assert_same_but_unknown(whole.sealed, now.sealed, unknown)
    assert now.visits == whole.visits


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_at_the_end_of_a_turn_without_an_answer(stage: Stage, seed: int) -> None:
    """At whatever write of its end: the history says once that the request was left without an answer, and why."""
    stage.server.tell(*story(seed))
    session = older(stage, seed)
    limited = stage.copy("limited")
    report = limited.finish(session=session, max_iterations=2)
    assert report.outcome == "budget_exhausted"
    with limited.store() as store:
        (turn,) = store.latest_turns(1)
        whole = kept(store, turn)
    for point, times in sorted(report.passed.items()):
        if point.split(":")[1] != "persist":
            continue
        for back in range(3 if point.startswith("seal") else 1):
            stage.server.tell(*story(seed))
            cut = stage.copy(f"{point}-{back}")
            left, _ = cut.do(session=session, max_iterations=2, at=point, nth=times - back)
            assert left.killed
            with cut.store() as store:
                (turn,) = store.latest_turns(1)
                ended = store.journal(turn)[-1].kind == "end"
            resumed = cut.finish(turn=turn)
            assert ended or resumed.came_to() == report.came_to(), (point, back)
            cut.assert_nothing_twice()
            with cut.store() as store:
                now = kept(store, turn)
            assert (now.history, now.sealed, now.visits) == (whole.history, whole.sealed, whole.visits), (point, back)
