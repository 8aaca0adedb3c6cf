"""A reply is received once: written when it is whole, and handed out again where an earlier run had it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError, UserError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ThinkingPart, UserPromptPart
from turngraph import nodes
from turngraph.flows.flow import STANDARD
from turngraph.flows.named import through_agent
from turngraph.nodes.asking import ask
from turngraph.nodes.deps import KnownCall
from turngraph.nodes.errors import ContextOverflow, ProviderError, StoreError, UsageError
from turngraph.nodes.events import TextDelta, ThinkingDelta
from turngraph.nodes.node import Ctx, TurnNode
from turngraph.nodes.slots import Slot
from turngraph.nodes.state import TurnState
from turngraph.nodes.variants.best_of import best_of
from turngraph.nodes.variants.cascade import cascade
from turngraph.tools.secret import Secrets

from .acting import Actor, Delta, Ledger, Scene, reading, thought

pytestmark = pytest.mark.anyio


class Remembered:
    """A past of some replies, each with its row; an error is raised."""

    def __init__(self, *replies: tuple[ModelResponse, int] | ProviderError) -> None:
        self.replies = list(replies)

    def reply(self, state: TurnState) -> tuple[ModelResponse, int] | None:
        received = self.replies.pop(0) if self.replies else None
        if isinstance(received, ProviderError):
            raise received
        return received

    def call(self, state: TurnState, slot: Slot) -> KnownCall | None:
        return None


def look(n: int = 0) -> int:
    return n


def scene_of(*deltas: Delta, past: Remembered | None = None, ledger: Ledger | None = None) -> Scene:
    scene = Scene(Actor(list(deltas)), reading(look), ledger=ledger)
    scene.state.session.messages = [ModelRequest(parts=[UserPromptPart("work")])]
    if past is not None:
        scene.deps = replace(scene.deps, past=past)
        scene.ctx = Ctx(state=scene.state, deps=scene.deps)
    return scene


def reply_of(*parts: TextPart | ThinkingPart) -> ModelResponse:
    return ModelResponse(parts=list(parts))


KNOWN = reply_of(ThinkingPart("hm"), TextPart("So "), ThinkingPart(""), TextPart("be it."))


async def test_a_whole_reply_is_written_as_it_was_said_before_it_is_handed_out() -> None:
    scene = scene_of(thought("hm"), "Done", ".")
    reply, row = await ask(scene.ctx, scene.deps.model)
    assert scene.ledger.rows == [("message", (reply, None))]
    assert row == 1
    assert [type(part) for part in reply.parts] == [ThinkingPart, TextPart]
    assert scene.memory.events == []


async def test_a_reply_that_breaks_off_is_not_written() -> None:
    async def hang() -> None:
        await anyio.sleep_forever()

    scene = scene_of("half", hang)
    with anyio.move_on_after(0.05):
        await ask(scene.ctx, scene.deps.model, live=True)
    assert scene.ledger.rows == []
    assert scene.memory.events == [TextDelta("half")]


async def test_what_was_received_already_is_handed_out_and_nothing_asked_or_written() -> None:
    scene = scene_of("new", past=Remembered((KNOWN, 7), (KNOWN, 9)))
    assert await ask(scene.ctx, scene.deps.model) == (KNOWN, 7)
    assert await ask(scene.ctx, scene.deps.model) == (KNOWN, 9)
    assert (scene.model.requests, scene.ledger.rows, scene.memory.events) == ([], [], [])
    reply, row = await ask(scene.ctx, scene.deps.model)
    assert ([part.content for part in reply.parts if isinstance(part, TextPart)], row) == (["new"], 1)


async def test_what_is_handed_out_is_shown_where_a_new_reply_would_be() -> None:
    scene = scene_of(past=Remembered((KNOWN, 7)))
    await ask(scene.ctx, scene.deps.model, live=True)
    assert scene.memory.events == [ThinkingDelta("hm"), TextDelta("So be it.")]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelHTTPError(500, "actor"), ProviderError),
        (ModelHTTPError(400, "actor", {"message": "prompt is too long: 9 tokens > 8 maximum"}), ContextOverflow),
    ],
)
async def test_a_failure_is_written_and_raised(error: Exception, kind: type[ProviderError]) -> None:
    scene = scene_of("half", error)
    with pytest.raises(kind) as caught:
        await ask(scene.ctx, scene.deps.model)
    assert type(caught.value) is kind
    assert scene.ledger.rows == [("failure", str(caught.value))]


async def test_what_the_user_did_wrong_is_no_failure_of_the_request() -> None:
    scene = scene_of(UserError("no such setting"))
    with pytest.raises(UsageError, match="no such setting"):
        await ask(scene.ctx, scene.deps.model)
    assert scene.ledger.rows == []


async def test_a_failure_that_the_past_knows_is_not_written_again() -> None:
    scene = scene_of(past=Remembered(ProviderError("the server is down")))
    with pytest.raises(ProviderError, match="the server is down"):
        await ask(scene.ctx, scene.deps.model)
    assert (scene.model.requests, scene.ledger.rows) == ([], [])


async def test_a_reply_that_cannot_be_written_is_not_handed_out() -> None:
    scene = scene_of("Done.", ledger=Ledger(lambda number: True))
    with pytest.raises(StoreError):
        await ask(scene.ctx, scene.deps.model)


async def test_something_else_is_asked_without_tools_guidance_or_the_history() -> None:
    scene = scene_of("OK")
    scene.state.guidance = "Be brief."
    about: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("Is it good?")])]
    await ask(scene.ctx, scene.deps.model, about=about)
    ((asked,),) = scene.model.requests
    assert [getattr(part, "content", None) for part in asked.parts] == ["Is it good?"]
    assert scene.model.infos[0].function_tools == []


KEY = "sk-TEST-123456"


@pytest.mark.parametrize("way", ["standard", "agent"])
async def test_the_value_of_a_secret_variable_is_neither_kept_nor_sent_on(way: str) -> None:
    scene = scene_of(f"The key is {KEY}.")
    scene.deps = replace(scene.deps, secrets=Secrets({"X_KEY": KEY}))
    scene.ctx = Ctx(state=scene.state, deps=scene.deps)
    flow = through_agent(STANDARD, Agent(name="mine")) if way == "agent" else STANDARD
    await flow.lineup["stream"]().run(scene.ctx)
    assert KEY not in repr((scene.state.reply, scene.ledger.rows))
    assert "[redacted X_KEY]" in repr(scene.ledger.rows)


STREAMS: Sequence[tuple[type[TurnNode], int]] = [
    (nodes.Stream, 1),
    (best_of(2), 2),
    (cascade(Actor()), 1),
    (through_agent(STANDARD, Agent(name="mine")).lineup["stream"], 1),
]


@pytest.mark.parametrize(("node", "count"), STREAMS, ids=[node.__name__ for node, _ in STREAMS])
async def test_every_node_that_asks_takes_what_was_received_already(node: type[TurnNode], count: int) -> None:
    scene = scene_of(past=Remembered(*((KNOWN, row) for row in range(7, 7 + count))))
    await node().run(scene.ctx)
    assert (scene.state.reply, scene.state.reply_row) == (KNOWN, 7)
    assert (scene.model.requests, scene.ledger.rows) == ([], [])
    shown = [event for event in scene.memory.events if isinstance(event, ThinkingDelta | TextDelta)]
    assert shown == [ThinkingDelta("hm"), TextDelta("So be it.")]
