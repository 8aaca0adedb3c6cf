"""A turn on a long session, against what pydantic-ai needs to read and prepare the same messages and our empty turn."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models import ModelRequestParameters
from turngraph import Store

from .table import Row
from .turns import Calling, adding, turn

MESSAGES = 2000
AT_MOST = 1.5
_TURNS = 20


def rows(rounds: int, directory: Path) -> Iterator[Row]:
    """CPU time of whole turns that get their answer at once; each round opens a fresh copy of the session."""
    filled = directory / "filled.db"
    with Store.open(filled) as store:
        session = store.create_session(str(directory))
        anyio.run(_fill, store, session)
        messages = store.load_messages(session).messages
        assert len(messages) == MESSAGES
    dumped = ModelMessagesTypeAdapter.dump_json(messages)
    del messages
    both = [_round(filled, directory / f"opening-{number}.db", session, dumped) for number in range(rounds + 1)]
    what = f"a turn on {MESSAGES:,} stored messages"
    peer = "pydantic-ai reads and prepares them, and an empty turn"
    yield Row(what, [ours for ours, _ in both[1:]], peer, [peer for _, peer in both[1:]], AT_MOST)


def _round(filled: Path, copy: Path, session: str, dumped: bytes) -> tuple[float, float]:
    shutil.copyfile(filled, copy)
    with Store.open(copy) as store:
        return anyio.run(_turn, store, session), _reading(dumped) + anyio.run(_turn, store, None)


async def _fill(store: Store, session: str) -> None:
    for _ in range(_TURNS):
        await turn(store, Calling(MESSAGES // _TURNS // 2 - 1), adding(), session=session)


async def _turn(store: Store, session: str | None) -> float:
    began = time.process_time()
    await turn(store, Calling(0), adding(), session=session)
    return (time.process_time() - began) * 1000


def _reading(dumped: bytes) -> float:
    model = Calling(0).model()
    began = time.process_time()
    messages = ModelMessagesTypeAdapter.validate_json(dumped)
    model.prepare_messages(messages, ModelRequestParameters())
    return (time.process_time() - began) * 1000
