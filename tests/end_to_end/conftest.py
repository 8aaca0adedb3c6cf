from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from ..scripted.harness import Workbench
from ..scripted.server import ScriptedServer, serving


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


@pytest.fixture
def server() -> Generator[ScriptedServer]:
    """A server without a script yet; at the end it must have played it all and seen no broken request."""
    with serving() as server:
        yield server
    assert server.violations == []
    assert list(server.script) == []
