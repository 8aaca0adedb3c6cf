from __future__ import annotations

from pathlib import Path

import pytest
from turngraph.tools.workspace import Workspace


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "ws"
    directory.mkdir()
    return directory


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(root)
