from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from .job import Report
from .judging import Kept, kept
from .server import steady
from .stage import Forker, Stage, forking
from .story import older, story


@pytest.fixture(scope="session")
def forker() -> Generator[Forker]:
    with forking() as forker:
        yield forker


@pytest.fixture
def stage(tmp_path: Path, forker: Forker) -> Generator[Stage]:
    """An empty stage, whose server has no script yet; at the end it must have seen no broken request."""
    with steady() as server:
        yield Stage(tmp_path / "stage", forker, server)
    assert server.violations == []


Straight = tuple[Report, Kept, int]


@pytest.fixture(scope="session")
def straight(tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> Callable[[int], Straight]:
    """A story told without interruption: how it ended, what was kept of it, and how many requests it took."""
    told: dict[int, Straight] = {}

    def tell(seed: int) -> Straight:
        if seed not in told:
            replies = story(seed)
            with steady(*replies) as server:
                stage = Stage(tmp_path_factory.mktemp("straight") / "stage", forker, server)
                report = stage.finish(session=older(stage, seed))
                assert report.saved, report
                with stage.store() as store:
                    (turn,) = store.latest_turns(1)
                    told[seed] = report, kept(store, turn), len(server.requests)
                assert server.violations == []
                assert not server.script
        return told[seed]

    return tell
