"""Every node, killed at every kind of point: the turn goes on, does nothing twice, and comes to the same end."""

from __future__ import annotations

import random
from collections.abc import Callable

import anyio
import pytest
from turngraph.flows.replay import replay_turn

from .conftest import Straight
from .judging import assert_same_but_unknown, kept
from .points import ROLES, WHERE
from .stage import Stage, replies_in, under_way
from .story import SEEDS, older, story


def chosen(passed: dict[str, int], where: str, role: str, seed: int) -> tuple[str, int]:
    """A point of a node, and which passing of it; where it has several kinds, each seed has another."""
    kinds = sorted(point for point in passed if point.split(":")[:2] == [where, role])
    point = kinds[seed % len(kinds)]
    return point, random.Random(f"{where} {role} {seed}").randint(1, passed[point])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("where", WHERE)
def test_killed_and_resumed(
    stage: Stage, straight: Callable[[int], Straight], where: str, role: str, seed: int
) -> None:
    report, whole, requests = straight(seed)
    stage.server.add(*story(seed))
    point, nth = chosen(dict(report.passed), where, role, seed)
    left, _ = stage.do(session=older(stage, seed), at=point, nth=nth)
    assert left.killed, (point, nth)

    with stage.store() as store:
        (turn,) = store.latest_turns(1)
        journal = store.journal(turn)
    received, unknown = replies_in(journal), under_way(journal)
    asked = len(stage.server.requests)
    assert asked - received in (0, 1)
    resumed = stage.finish(turn=turn)
    stage.assert_nothing_twice()
    assert len(stage.server.requests) == requests + asked - received
    if journal[-1].kind == "end":
        assert resumed.outcome == "usage_error"
        assert "has ended" in (resumed.error or "")
    else:
        assert resumed.came_to(len(unknown)) == report.came_to()
        assert set(report.edited_files) - set(resumed.edited_files) <= {f"{call[5:]}.txt" for call in unknown}
        assert any("under way" in warning for warning in resumed.warnings) == bool(unknown), resumed.warnings
    with stage.store() as store:
        now = kept(store, turn)
        assert anyio.run(replay_turn, store, turn).departure is None
    assert_same_but_unknown(whole.history, now.history, unknown)
    assert_same_but_unknown(whole.sealed, now.sealed, unknown)
    assert now.visits == whole.visits
    assert now.end == "end"
