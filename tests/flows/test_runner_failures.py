from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse
from pydantic_ai.toolsets import AbstractToolset
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.flows.store import EndBody, Store, TurnHead, TurnWriter
from turngraph.nodes.errors import StoreError
from turngraph.nodes.events import (
    Event,
    TurnEnded,
)
from turngraph.nodes.outcome import Outcome

from ..nodes.acting import Actor, Delta, call, reading, writing
from .settled import assert_settled, assert_whole

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> int:
    return n


def write(n: int = 0) -> str:
    return "written"


TOOLS: list[AbstractToolset[Any]] = [reading(look), writing(write)]


class FailingWriter:
    """The writer of a turn, whose n-th write fails; `lasting` means that all later ones fail too."""

    def __init__(self, writer: TurnWriter, at: int, lasting: bool) -> None:
        self._writer = writer
        self._at = at
        self._lasting = lasting
        self.writes = 0

    def _checked(self) -> TurnWriter:
        self.writes += 1
        if self.writes == self._at or (self._lasting and self.writes > self._at):
            raise StoreError("the disk is full")
        return self._writer

    def __enter__(self) -> FailingWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    @property
    def prompt_row(self) -> int:
        return self._writer.prompt_row

    def __getattr__(self, name: str) -> Any:
        return getattr(self._checked(), name)


class FailingStore:
    """A store whose next turn cannot write for the n-th time."""

    def __init__(self, store: Store, at: int, lasting: bool) -> None:
        self._store = store
        self._at = at
        self._lasting = lasting
        self.writer: FailingWriter | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def begin_turn(self, head: TurnHead, prompt: ModelRequest) -> FailingWriter:
        self.writer = FailingWriter(self._store.begin_turn(head, prompt), self._at, self._lasting)
        return self.writer


MIXED: list[Sequence[Delta]] = [
    [call("look"), call("look", 2), call("write", 3)],
    ['<tool_call>{"name": "look", "arguments": {}}</tool_call>'],
    [""],
    ["Done."],
]
WRITES = 36


@pytest.mark.parametrize("lasting", [True, False])
async def test_a_store_that_fails_at_any_write_never_breaks_the_turn(lasting: bool) -> None:
    for at in range(1, WRITES + 2):
        with Store.in_memory() as store:
            session, sink = store.create_session("x"), MemorySink()
            failing = FailingStore(store, at, lasting)
            result = await run_turn(
                "go", model=Actor(*MIXED), toolsets=TOOLS, sink=sink, store=cast(Store, failing), session=session
            )
            assert_settled(sink.events)
            assert failing.writer is not None
            failed = failing.writer.writes >= at
            assert failed == (at <= WRITES), f"{failing.writer.writes} writes"
            assert (result.outcome is Outcome.INTERNAL_ERROR) == failed
            assert "the disk is full" in (result.error or "") or not failed
            if lasting:
                assert result.saved is not failed
            messages = store.load_messages(session).messages
            assert_whole(messages)
            calls = [part for message in messages if isinstance(message, ModelResponse) for part in message.tool_calls]
            if not failed:
                assert len(calls) == 4
            again = await run_turn("again", model=Actor(), store=store, session=session)
            assert (again.outcome, again.answer) == (Outcome.COMPLETED, "Done.")
            assert_whole(store.load_messages(session).messages)


class Broken:
    """A sink that raises at its n-th event and whenever `after` asks it to."""

    def __init__(self, at: int, lasting: bool) -> None:
        self.events: list[Event] = []
        self._count = 0
        self._at = at
        self._lasting = lasting

    async def emit(self, event: Event) -> None:
        self._count += 1
        if self._count == self._at or (self._lasting and self._count > self._at):
            raise BrokenPipeError("nobody reads")
        self.events.append(event)


@pytest.mark.parametrize("lasting", [True, False])
async def test_a_sink_that_raises_at_any_event_never_breaks_the_turn(lasting: bool) -> None:
    whole = MemorySink()
    await run_turn("go", model=Actor(*MIXED), toolsets=TOOLS, sink=whole)
    for at in range(1, len(whole.events) + 1):
        with Store.in_memory() as store:
            session, sink = store.create_session("x"), Broken(at, lasting)
            result = await run_turn("go", model=Actor(*MIXED), toolsets=TOOLS, sink=sink, store=store, session=session)
            last = at == len(whole.events)
            assert result.outcome is (Outcome.COMPLETED if last else Outcome.INTERNAL_ERROR)
            assert last or "BrokenPipeError: nobody reads" in (result.error or "")
            assert result.saved
            assert_whole(store.load_messages(session).messages)
            ends = [record.body for record in store.journal(result.turn_id) if isinstance(record.body, EndBody)]
            assert [end.result for end in ends] == [result]
            if not lasting and not last:
                assert sink.events[-1] == TurnEnded(result)
