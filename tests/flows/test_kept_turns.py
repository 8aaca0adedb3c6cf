"""What a turn left behind stays as it was, and serves a later turn of another flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter, UserPromptPart
from pydantic_graph import Edge
from turngraph.flows.flow import STANDARD
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import result_json
from turngraph.flows.store import Store, TurnBody
from turngraph.nodes import Execute, Persist
from turngraph.nodes.history.stamp import unstamp
from turngraph.nodes.node import Ctx, TurnNode, go
from turngraph.nodes.outcome import Outcome
from turngraph.nodes.state import AgentState

from ..nodes.acting import Actor, call, reading

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> int:
    return n


@dataclass
class OneByOne(TurnNode):
    """Plays execute with an option of its own, in a graph that later turns do not have."""

    role = "execute"
    state = AgentState.TOOL_EXECUTION

    async def run(self, ctx: Ctx) -> Annotated[Persist, Edge("one by one")]:
        await Execute().run(ctx)
        return go(ctx, Persist)


async def test_a_session_goes_on_in_a_flow_with_other_nodes(store: Store) -> None:
    """T8-12, T8-13: a stored turn names its classes and its graph; another graph does not make it unreadable."""
    session = store.create_session("/work")
    swapped = STANDARD.swap(OneByOne)
    for flow in (swapped, STANDARD):
        model = Actor([call("look")], ["Seen."])
        result = await run_turn("go", model=model, toolsets=[reading(look)], flow=flow, store=store, session=session)
        assert (result.outcome, result.answer) == (Outcome.COMPLETED, "Seen.")
    loaded = store.load_messages(session)
    assert (len(loaded.messages), loaded.skipped) == (8, 0)
    heads = [body.head for turn in store.turns(session) if isinstance(body := store.journal(turn)[0].body, TurnBody)]
    assert [head.lineup["execute"].rpartition(":")[2] for head in heads] == ["OneByOne", "Execute"]
    assert heads[0].sources["execute"] != heads[1].sources["execute"]


async def test_a_turn_never_starts_an_earlier_one_again(store: Store) -> None:
    """T8-15: going on with a session begins a turn of its own, whatever its prompt is; nothing stands for resuming."""
    session = store.create_session("/work")
    for prompt in ("first", "", "third"):
        await run_turn(prompt, model=Actor(["Done."]), store=store, session=session)
    parts = [part for message in store.load_messages(session).messages for part in message.parts]
    prompts = [unstamp(str(part.content)) for part in parts if isinstance(part, UserPromptPart)]
    assert prompts == ["first", "", "third"]


async def test_what_was_kept_is_not_changed_by_what_comes_later(store: Store) -> None:
    """T8-10: results and histories are of their moment, not views of something that goes on."""
    session = store.create_session("/work")
    first = await run_turn(
        "one", model=Actor([call("look")], ["1"]), toolsets=[reading(look)], store=store, session=session
    )
    told = result_json(first)
    history = store.load_messages(session).messages
    written = ModelMessagesTypeAdapter.dump_json(history)
    await run_turn("two", model=Actor([call("look")], ["2"]), toolsets=[reading(look)], store=store, session=session)
    assert result_json(first) == told
    assert ModelMessagesTypeAdapter.dump_json(history) == written
    assert ModelMessagesTypeAdapter.dump_json(store.load_messages(session).messages[: len(history)]) == written
