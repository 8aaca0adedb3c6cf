"""How a running tool tells its progress, without knowing who listens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

Reporter = Callable[[str], Awaitable[None]]

_reporter: ContextVar[Reporter | None] = ContextVar("turngraph_progress", default=None)


async def report(text: str) -> None:
    """Tell how far the current call is; nothing happens where nobody listens."""
    if (reporter := _reporter.get()) is not None:
        await reporter(text)


@contextmanager
def reporting(callback: Reporter) -> Generator[None]:
    """Send what tools report within this block to `callback`."""
    token = _reporter.set(callback)
    try:
        yield
    finally:
        _reporter.reset(token)
