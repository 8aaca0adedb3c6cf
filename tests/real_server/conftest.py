from __future__ import annotations

import shutil
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..scripted.harness import Workbench
from .examples import teach
from .model_server import INSTALL, ModelServer, serving, weights


@pytest.fixture(scope="session")
def server() -> Generator[ModelServer]:
    model = weights()
    if model is None:
        pytest.skip(f"no real model server here; install it with: {INSTALL}")
    with serving(model) as server:
        yield server


@dataclass(frozen=True)
class Taught:
    """A workbench whose store holds the session with the examples."""

    bench: Workbench
    session: str


@pytest.fixture(scope="session")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> Taught:
    """Given once: the server keeps what it has read, so all tests together pay for reading the examples once."""
    bench = Workbench(tmp_path_factory.mktemp("lesson"))
    return Taught(bench, teach(bench))


@pytest.fixture
def taught(lesson: Taught, tmp_path: Path) -> Taught:
    """The lesson's workspace, which no test writes to, and a store of the test's own."""
    bench = Workbench(tmp_path)
    bench.workspace = lesson.bench.workspace
    shutil.copytree(lesson.bench.store_path.parent, bench.store_path.parent)
    return Taught(bench, lesson.session)
