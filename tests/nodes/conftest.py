from __future__ import annotations

from collections.abc import Generator

import pytest
from turngraph.nodes import perform


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def no_pauses() -> Generator[None]:
    """Retries come at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(perform, "FIRST_PAUSE", 0.0)
        yield
