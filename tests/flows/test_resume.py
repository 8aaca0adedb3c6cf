"""A turn that was cut off at any write goes on, does nothing twice, and comes to the same end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.toolsets import FunctionToolset
from turngraph.flows.resume import resume_turn
from turngraph.flows.runner import run_turn
from turngraph.flows.store import MessageBody, Store, TurnWriter
from turngraph.flows.testing.model import ScriptedModel
from turngraph.nodes.errors import StoreError
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.tools.effects import Effect, declare

pytestmark = pytest.mark.anyio

REPLIES = (
    (
        "thinking:hm",
        ToolCallPart("look", {"n": 1}, "c1"),
        ToolCallPart("change", {"n": 2}, "c2"),
        ToolCallPart("look", {"n": 3}, "c3"),
    ),
    (ToolCallPart("change", {"n": 4}, "c4"), ToolCallPart("nothing", {}, "c5")),
    '<tool_call>{"name": "look", "arguments": {"n": 6}}</tool_call>',
    "",
    "Done.",
)


WRITES = 22


class Cut(BaseException):
    """The process is gone."""


class World:
    """What the tools did, and what the model was asked, over all processes."""

    def __init__(self) -> None:
        self.done = Counter[tuple[str, int]]()
        self.model = ScriptedModel(*REPLIES)

    def tools(self) -> FunctionToolset[Any]:
        def look(n: int) -> str:
            self.done["look", n] += 1
            return f"saw {n}"

        def change(n: int) -> str:
            self.done["change", n] += 1
            return f"changed {n}"

        toolset = FunctionToolset[Any]()
        toolset.add_function(look, metadata=declare(Effect.READ_ONLY))
        toolset.add_function(change, metadata=declare(Effect.WRITE))
        return toolset


def said(store: Store, session: str) -> list[Any]:
    """A session's history without times and without what is generated."""
    return [part_of(part) for message in store.load_messages(session).messages for part in message.parts]


def part_of(part: Any) -> tuple[Any, ...]:
    content = getattr(part, "content", None) or getattr(part, "args", None)
    text = str(content)
    return part.part_kind, getattr(part, "tool_name", ""), text[28:] if text.startswith("[20") else text


def replies_in(store: Store, turn: str) -> int:
    """How many replies of the model are safe."""
    bodies = [record.body for record in store.journal(turn)]
    return sum(
        isinstance(body, MessageBody) and isinstance(body.message, ModelResponse) and body.replaces is None
        for body in bodies
    )


async def straight() -> tuple[TurnResult, list[Any], World]:
    world = World()
    with Store.in_memory() as store:
        session = store.create_session("")
        result = await run_turn("work", model=world.model, toolsets=[world.tools()], store=store, session=session)
        return result, said(store, session), world


@contextmanager
def power_cut(number: int, *, before: bool) -> Generator[None]:
    """The process is gone at its n-th write, before that is safe or after; nothing is written any more."""
    count = 0
    write: Any = TurnWriter._insert  # pyright: ignore[reportPrivateUsage]

    def insert(self: TurnWriter, *args: Any) -> Any:
        nonlocal count
        count += 1
        if count > number:
            raise StoreError("gone")
        if count == number and before:
            raise Cut
        row = write(self, *args)
        if count == number:
            raise Cut
        return row

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TurnWriter, "_insert", insert)
        yield


async def test_a_turn_takes_as_many_writes_as_are_cut_here() -> None:
    with Store.in_memory() as store, power_cut(WRITES + 1, before=True):
        world = World()
        result = await run_turn("work", model=world.model, toolsets=[world.tools()], store=store)
        assert result.outcome is Outcome.COMPLETED


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, WRITES))
async def test_it_comes_to_the_same_end(number: int, before: bool) -> None:
    result, history, world = await straight()
    with Store.in_memory() as store:
        again = World()
        session = store.create_session("")
        with power_cut(number, before=before), pytest.raises(BaseException) as caught:  # noqa: PT011
            await run_turn("work", model=again.model, toolsets=[again.tools()], store=store, session=session)
        assert isinstance(caught.value, Cut | BaseExceptionGroup)
        (turn,) = store.turns(session)
        received = replies_in(store, turn)
        model = ScriptedModel(*REPLIES[received:])
        resumed = await resume_turn(turn, store=store, model=model, toolsets=[again.tools()])
        assert all(count == 1 for (name, _), count in again.done.items() if name == "change"), again.done
        assert resumed.outcome == result.outcome
        now = said(store, session)
        differing = [(one, other) for one, other in zip(history, now, strict=True) if one != other]
        assert all(one[1] == "change" and "outcome is unknown" in other[2] for one, other in differing)
        assert len(differing) <= 1
        assert received + len(model.requests) == len(world.model.requests)
