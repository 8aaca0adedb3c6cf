from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from turngraph.flows.store import Store


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "turns.db"


@pytest.fixture
def store(store_path: Path) -> Iterator[Store]:
    with Store.open(store_path) as store:
        yield store
