"""A preview is the request that the turn makes, and asks nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from turngraph.flows.flow import STANDARD
from turngraph.flows.preview import Preview, Unasked, preview
from turngraph.flows.runner import run_turn
from turngraph.flows.store import Store
from turngraph.flows.swap import apply_swaps
from turngraph.nodes.deps import Limits
from turngraph.nodes.errors import UsageError
from turngraph.tools.effects import Effect, declare

pytestmark = pytest.mark.anyio

BROKEN: list[ModelMessage] = [
    ModelRequest(parts=[UserPromptPart("one")]),
    ModelResponse(parts=[]),
    ModelRequest(parts=[UserPromptPart("two")]),
]
LONG: list[ModelMessage] = [
    message
    for number in range(40)
    for message in (
        ModelRequest(parts=[UserPromptPart(f"question {number} " + "word " * 200)]),
        ModelResponse(parts=[TextPart(f"answer {number} " + "word " * 200)]),
    )
]


class World:
    """A model that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[ModelMessage], Any]] = []

    def model(self) -> Model:
        async def stream(messages: list[ModelMessage], info: Any) -> AsyncIterator[str]:
            self.asked.append((messages, info))
            yield "Done."

        return FunctionModel(stream_function=stream, model_name="noted")

    def tools(self) -> FunctionToolset[Any]:
        toolset = FunctionToolset[Any]()
        toolset.add_function(look, metadata=declare(Effect.READ_ONLY))
        return toolset


def look(n: int) -> str:
    """Look at n."""
    return str(n)


def texts(messages: Any) -> list[list[str]]:
    """What is said, without times."""
    return [[str(getattr(part, "content", ""))[-80:] for part in message.parts] for message in messages]


async def test_it_is_what_the_turn_asks(store: Store) -> None:
    world, requests = World(), list[Preview]()
    session = store.create_session("/w")
    store.add_messages(session, BROKEN)
    history = store.load_messages(session).messages
    how: dict[str, Any] = {"instructions": "be brief", "limits": Limits(max_tokens=77)}
    seen = await preview(
        "go", history, requests, model=Unasked(world.model(), requests), toolsets=[world.tools()], **how
    )
    assert world.asked == []
    await run_turn("go", model=world.model(), toolsets=[world.tools()], store=store, session=session, **how)
    ((messages, info),) = world.asked
    assert texts(seen.messages) == texts(messages)
    assert [tool.name for tool in seen.tools] == [tool.name for tool in info.function_tools] == ["look"]
    assert seen.settings == info.model_settings
    assert seen.instructions == info.instructions == "be brief"
    assert seen.model == "function:noted"


async def test_what_is_mended_is_said() -> None:
    requests: list[Preview] = []
    seen = await preview("go", BROKEN, requests, model=Unasked(World().model(), requests))
    assert any("mended" in notice or "repaired" in notice for notice in seen.notices)


async def test_a_summary_is_said_and_not_made() -> None:
    world, requests = World(), list[Preview]()
    limits = Limits(context_window=8_000)
    seen = await preview("go", LONG, requests, model=Unasked(world.model(), requests), limits=limits)
    assert world.asked == []
    assert any("asked for a summary" in notice for notice in seen.notices)
    assert len(seen.messages) == len(LONG) + 1


async def test_the_other_models_of_a_flow_are_not_asked_either() -> None:
    world, requests = World(), list[Preview]()

    def made(spec: str) -> Model:
        return Unasked(world.model(), requests)

    flow = apply_swaps(STANDARD, ["stream=cascade:cheap"], models=made)
    seen = await preview("go", [], requests, model=made("dear"), flow=flow)
    assert (world.asked, len(seen.messages)) == ([], 1)


async def test_a_turn_that_ends_before_it_asks() -> None:
    requests: list[Preview] = []
    with pytest.raises(UsageError, match="before it asks"):
        await preview(
            "word " * 9_000, [], requests, model=Unasked(World().model(), requests), limits=Limits(context_window=2_000)
        )
