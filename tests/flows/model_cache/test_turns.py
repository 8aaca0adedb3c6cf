"""Turns that were recorded, and replayed with no server left to ask."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic_ai.messages import ModelMessage, PartStartEvent, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage
from turngraph.flows.flow import STANDARD, Flow
from turngraph.flows.model_cache import Mode, cached
from turngraph.flows.models import create_model
from turngraph.flows.runner import run_turn
from turngraph.flows.store import Store
from turngraph.nodes.errors import ProviderError
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.variants.best_of import best_of
from turngraph.tools.toolset import workspace_toolset

from ...scripted.harness import outline
from ...scripted.replies import Status, Step, call, calls, say
from ...scripted.server import serving
from .asking import ask, asked, prompt, records, strict

NOBODY = "http://127.0.0.1:9/v1"
SCRIPT = (
    calls(call("bash", command='sleep "$(cat delay)"; echo slept'), text="I wait."),
    calls(call("read_file", path="notes.txt"), call("glob", pattern="*.txt")),
    say("It says xylophone."),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


class Turns:
    """Turns in one workspace, each in a store of its own."""

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = root, path
        root.mkdir()
        (root / "notes.txt").write_text("xylophone\n")
        (root / "delay").write_text("0")

    def run(self, mode: Mode, url: str, flow: Flow = STANDARD, prompt: str = "what?") -> tuple[TurnResult, list[str]]:
        """The result, and the history that a next turn would see."""
        model = cached(create_model("openai:scripted", base_url=url), mode, self.path)
        with Store.in_memory() as store:
            toolsets = [workspace_toolset(self.root)]
            result = anyio.run(
                lambda: run_turn(prompt, model=model, toolsets=toolsets, flow=flow, store=store, workdir=self.root)
            )
            return result, outline(store.load_messages(result.session_id).messages)

    def recorded(self, *script: Step, mode: Mode = "record", **how: Any) -> tuple[TurnResult, list[str]]:
        with serving(*script) as server:
            done = self.run(mode, server.base_url, **how)
            assert (server.violations, list(server.script)) == ([], [])
            return done


@pytest.fixture
def turns(tmp_path: Path, path: Path) -> Turns:
    return Turns(tmp_path / "workspace", path)


def said(result: TurnResult) -> tuple[Any, ...]:
    return result.outcome, result.answer, result.iterations, result.usage, result.cost, result.model, result.error


def test_a_recorded_turn_is_the_same_without_its_server(turns: Turns) -> None:
    """Although a command takes longer, and all ids and times are others."""
    first, history = turns.recorded(*SCRIPT)
    assert first.answer == "It says xylophone."
    (turns.root / "delay").write_text("0.3")
    again, again_history = turns.run("strict", NOBODY)
    assert said(again) == said(first)
    assert again_history == history
    assert [one["number"] for one in records(turns.path)] == [1, 1, 1]


def test_a_turn_that_departs_from_its_record_says_where(turns: Turns) -> None:
    turns.recorded(*SCRIPT)
    (turns.root / "notes.txt").write_text("accordion\n")
    departed, _ = turns.run("strict", NOBODY)
    assert departed.outcome is Outcome.PROVIDER_FAILURE
    assert departed.error is not None
    assert departed.error.startswith("request 3 to openai:scripted (5 messages, the last ")
    assert "differs in message 5 of the conversation" in departed.error


def test_what_is_missing_is_asked_and_recorded(turns: Turns) -> None:
    turns.recorded(*SCRIPT, mode="replay")
    (turns.root / "notes.txt").write_text("accordion\n")
    _, history = turns.recorded(say("It says accordion."), mode="replay")
    assert history[-1] == "text: It says accordion."
    assert turns.run("strict", NOBODY)[1] == history
    assert len(records(turns.path)) == 4


def test_recording_again_counts_for_the_next_replay(turns: Turns) -> None:
    turns.recorded(say("Old."))
    turns.recorded(say("New."))
    assert turns.run("strict", NOBODY)[0].answer == "New."


def test_a_failure_is_not_recorded(turns: Turns) -> None:
    failed, _ = turns.recorded(Status(500))
    assert failed.outcome is Outcome.PROVIDER_FAILURE
    assert turns.path.read_text() == ""
    turns.recorded(say("Now."))
    assert turns.run("strict", NOBODY)[0].answer == "Now."


def test_the_best_of_several_replies_is_the_same_again(turns: Turns) -> None:
    """Each of the equal requests has a record; the order in which they came is the order in which they come again."""
    flow = STANDARD.swap(best_of(4))
    script = [say("Mine."), say("Yours."), Status(500), say("Yours.")]
    first, _ = turns.recorded(*script, flow=flow)
    assert (first.answer, first.usage.requests) == ("Yours.", 3)
    assert [one["number"] for one in records(turns.path)] == [1, 2, 3]
    again, _ = turns.run("strict", NOBODY, flow=flow)
    assert said(again) == said(first)


def slow_first() -> FunctionModel:
    """Its first reply comes last."""
    opened = 0

    async def play(messages: list[ModelMessage], info: AgentInfo) -> AsyncGenerator[str]:
        nonlocal opened
        opened += 1
        number = opened
        if number == 1:
            await anyio.sleep(0.1)
        yield f"reply {number}"

    return FunctionModel(stream_function=play)


@pytest.mark.parametrize("mode", ["record", "replay"])
def test_of_equal_requests_at_once_the_first_to_come_is_replayed_first(path: Path, mode: Mode) -> None:
    async def three(model: Model) -> list[str | None]:
        replies: list[str | None] = []

        async def one() -> None:
            replies.append((await asked(model, [prompt("x")])).text)

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(one)
        return replies

    live = anyio.run(three, cached(slow_first(), mode, path))
    assert sorted(map(str, live)) == ["reply 1", "reply 2", "reply 3"]
    assert live[-1] == "reply 1"
    assert anyio.run(three, strict_of(slow_first, path)) == live


def strict_of(make: Callable[[], Model], path: Path) -> Model:
    return cached(make(), "strict", path)


async def _thinks(messages: list[ModelMessage], info: AgentInfo) -> AsyncGenerator[Any]:
    yield {0: DeltaThinkingPart(content="hm", signature="signed")}
    yield "I "
    yield "look."
    yield {2: DeltaToolCall(name="grep", json_args='{"p": ', tool_call_id="id")}
    yield {2: DeltaToolCall(json_args='"x"}')}


def test_a_replayed_stream_gives_the_reply_part_by_part(path: Path) -> None:
    live = ask(cached(FunctionModel(stream_function=_thinks), "record", path), prompt("x"))
    model = cached(FunctionModel(stream_function=_thinks), "strict", path)

    async def replayed() -> None:
        async with model.request_stream([prompt("x")], None, ModelRequestParameters()) as stream:
            started = [event.part async for event in stream if isinstance(event, PartStartEvent)]
            assert stream.get() == live
            assert started == live.parts
            assert (stream.usage, stream.model_name, stream.timestamp) == (live.usage, live.model_name, live.timestamp)

    anyio.run(replayed)
    assert [type(part) for part in live.parts] == [ThinkingPart, TextPart, ToolCallPart]


def test_streamed_or_not_a_request_is_the_same(path: Path) -> None:
    live = ask(cached(FunctionModel(stream_function=_thinks), "record", path), prompt("x"))

    async def whole() -> Any:
        return await strict(path).request([prompt("x")], None, ModelRequestParameters())

    assert strict(path).model_id == "function:scripted"  # another model: not found
    with pytest.raises(ProviderError, match=r"the model \(function:function:.*_thinks there, function:scripted here\)"):
        anyio.run(whole)
    model = cached(FunctionModel(stream_function=_thinks), "strict", path)
    assert anyio.run(lambda: model.request([prompt("x")], None, ModelRequestParameters())) == live


def test_a_reply_that_was_not_read_to_its_end_is_not_recorded(path: Path) -> None:
    model = cached(FunctionModel(stream_function=_thinks), "record", path)

    async def leave() -> None:
        async with model.request_stream([prompt("x")], None, ModelRequestParameters()) as stream:
            await anext(aiter(stream))

    anyio.run(leave)
    assert path.read_text() == ""


def test_what_is_no_request_is_passed_on(path: Path) -> None:
    class Counting(FunctionModel):
        entered = 0

        async def __aenter__(self) -> Any:
            self.entered += 1
            return await super().__aenter__()

        async def count_tokens(
            self, messages: list[ModelMessage], model_settings: ModelSettings | None, model_request_parameters: Any
        ) -> RequestUsage:
            return RequestUsage(input_tokens=7)

    inner = Counting(stream_function=_thinks)
    model = cached(inner, "record", path)
    assert (model.model_name, model.system, model.profile) == (inner.model_name, inner.system, inner.profile)
    history: list[ModelMessage] = [prompt("x")]
    assert model.prepare_messages(history, ModelRequestParameters()) == history

    async def use() -> int:
        async with model:
            return (await model.count_tokens(history, None, ModelRequestParameters())).input_tokens

    assert anyio.run(use) == 7
    assert inner.entered == 1
