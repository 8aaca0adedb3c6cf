"""Opening what a turn needs, such as a model, toolsets or an agent, and closing it again whatever happens."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

from ..nodes.errors import UsageError
from ..nodes.request_log import logger

T = TypeVar("T")


@asynccontextmanager
async def opened(what: str, context: AbstractAsyncContextManager[T, Any]) -> AsyncGenerator[T]:
    """What a context gives. What fails when it is closed must not take the result of a turn: it goes to the log.

    Raises:
        UsageError: it does not open; `what` names it in the sentence.
    """
    try:
        found = await context.__aenter__()
    except Exception as error:
        raise UsageError(f"{what} could not be opened ({type(error).__name__}: {error})") from error
    try:
        yield found
    finally:
        try:
            await context.__aexit__(None, None, None)
        except Exception as error:
            logger.warning("%s could not be closed (%s: %s)", what, type(error).__name__, error)
