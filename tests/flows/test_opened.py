"""What is opened for a turn is closed again, and neither takes the turn's result nor hides its error."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from turngraph.flows.opened import opened
from turngraph.nodes.errors import UsageError

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def thing(*, opens: bool = True, closes: bool = True) -> AsyncGenerator[int]:
    if not opens:
        raise OSError("no such server")
    yield 1
    if not closes:
        raise OSError("it hung up")


async def test_what_does_not_open_is_named() -> None:
    with pytest.raises(UsageError, match=r"the agent x could not be opened \(OSError: no such server\)"):
        async with opened("the agent x", thing(opens=False)):
            pass


async def test_what_does_not_close_is_logged_and_takes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "turngraph")
    async with opened("the agent x", thing(closes=False)) as found:
        pass
    assert found == 1
    assert "the agent x could not be closed (OSError: it hung up)" in caplog.text


async def test_an_error_inside_is_the_news(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(KeyError):
        async with opened("the agent x", thing(closes=False)):
            raise KeyError
    assert "could not be closed" in caplog.text
