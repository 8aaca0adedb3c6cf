"""A turn through an existing agent: what is its own is used, what is ours stays."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import Hooks, Toolset
from pydantic_ai.messages import ModelRequest, SystemPromptPart, ToolCallPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from turngraph.flows.flow import STANDARD, Flow
from turngraph.flows.named import through_agent
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.flows.store import Store
from turngraph.graphs.rules import check
from turngraph.nodes.deps import Limits
from turngraph.nodes.errors import UsageError
from turngraph.nodes.events import ApprovalAsked, TextDelta, ToolFinished
from turngraph.nodes.outcome import Outcome
from turngraph.nodes.slots import CallStatus
from turngraph.nodes.variants.agent import AgentStream
from turngraph.nodes.variants.serial import SerialExecute
from turngraph.testing import ScriptedModel
from turngraph.tools.effects import Effect, declare
from turngraph.tools.policy import Auto, ReadOnly

pytestmark = pytest.mark.anyio


def an_agent(seen: list[Any]) -> Agent[str, str]:
    """It looks and adds by itself, and a capability of it looks on and brings one more tool."""
    hooks = Hooks[str]()

    @hooks.on.before_tool_execute
    async def _(  # pyright: ignore[reportUnusedFunction]
        ctx: RunContext[str], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        seen.append((call.tool_name, args))
        return args

    agent = Agent(
        None, deps_type=str, name="adder", instructions="Be exact.", system_prompt="You add.", capabilities=[hooks]
    )

    @agent.tool(metadata=declare(Effect.READ_ONLY))
    def add(ctx: RunContext[str], a: int, b: int) -> str:  # pyright: ignore[reportUnusedFunction]
        return f"{ctx.deps} {a + b}"

    @agent.tool_plain(requires_approval=True)
    def launch() -> str:  # pyright: ignore[reportUnusedFunction]
        seen.append("launched")
        return "gone"

    return agent


def flow(agent: Agent[Any, Any]) -> Flow:
    return through_agent(STANDARD, agent)


ADD = ToolCallPart("add", {"a": 1, "b": 2})


async def test_the_agents_instructions_tools_deps_and_hooks_are_used_and_the_turn_is_ours() -> None:
    seen: list[Any] = []
    model, sink = ScriptedModel(("Let me see.", ADD), "It is 3."), MemorySink()
    agent = an_agent(seen)
    check(flow(agent))
    with Store.in_memory() as store:
        session = store.create_session("here")
        turn: dict[str, Any] = {"flow": flow(agent), "store": store, "session": session, "tool_deps": "so:"}
        result = await run_turn("1 + 2?", model=model, sink=sink, instructions="Answer in English.", **turn)
        assert (result.outcome, result.answer, result.iterations) == (Outcome.COMPLETED, "It is 3.", 2)
        assert (result.usage.requests, result.usage.tool_calls) == (2, 1)
        again = ScriptedModel("Yes.")
        assert (await run_turn("Sure?", model=again, **turn)).answer == "Yes."
        assert len(again.requests[0]) == 5
    assert seen == [("add", {"a": 1, "b": 2})]
    (done,) = (event for event in sink.events if isinstance(event, ToolFinished))
    assert (done.status, done.result) == (CallStatus.OK, "so: 3")
    assert [event.text for event in sink.events if isinstance(event, TextDelta)] == ["Let me see.", "It is 3."]
    for asked in (model.requests[0], again.requests[0]):
        first = asked[0]
        assert isinstance(first, ModelRequest)
        assert [part.content for part in first.parts if isinstance(part, SystemPromptPart)] == ["You add."]
    last = model.requests[-1][-1]
    assert isinstance(last, ModelRequest)
    assert last.instructions == "Be exact.\n\nAnswer in English."


async def test_a_capability_may_bring_tools_and_so_may_the_turn() -> None:
    def extra() -> str:
        return "extra"

    def mine() -> str:
        return "mine"

    agent = Agent[Any, str](None, capabilities=[Toolset(FunctionToolset[Any]([extra]))])
    sink = MemorySink()
    model = ScriptedModel((ToolCallPart("extra", {}), ToolCallPart("mine", {})), "Done.")
    result = await run_turn("x", model=model, flow=flow(agent), toolsets=[FunctionToolset[Any]([mine])], sink=sink)
    assert result.outcome is Outcome.COMPLETED
    assert [event.result for event in sink.events if isinstance(event, ToolFinished)] == ["extra", "mine"]


@pytest.mark.parametrize("policy", [Auto(), ReadOnly()])
async def test_calls_of_an_agent_are_checked_and_asked_about_like_all_others(policy: Any) -> None:
    seen: list[Any] = []
    sink = MemorySink()
    model = ScriptedModel(
        (ToolCallPart("launch", {}), ToolCallPart("add", {"a": "x", "b": 1}), ToolCallPart("nothing", {})), "Done."
    )
    await run_turn("x", model=model, flow=flow(an_agent(seen)), sink=sink, policy=policy, tool_deps="")
    status = {event.name: event.status for event in sink.events if isinstance(event, ToolFinished)}
    allowed = isinstance(policy, Auto)
    assert status == {
        "launch": CallStatus.OK if allowed else CallStatus.REFUSED,
        "add": CallStatus.ERROR,
        "nothing": CallStatus.ERROR,
    }
    assert ("launched" in seen) is allowed
    assert not any(isinstance(event, ApprovalAsked) for event in sink.events)


async def test_guidance_and_limits_reach_the_agents_model() -> None:
    model = ScriptedModel("", "Done.")
    result = await run_turn(
        "x", model=model, flow=flow(an_agent([])), limits=Limits(max_tokens=77, max_iterations=2), tool_deps=""
    )
    assert (result.answer, result.iterations) == ("Done.", 2)
    assert "neither text nor a tool call" in str(model.requests[1])
    assert "neither text nor a tool call" not in str(model.requests[0])


async def test_a_failing_model_is_a_provider_failure() -> None:
    result = await run_turn("x", model=ScriptedModel(OSError("no line")), flow=flow(an_agent([])), tool_deps="")
    assert (result.outcome, "no line" in (result.error or "")) == (Outcome.PROVIDER_FAILURE, True)


def test_an_agent_and_a_swap_of_one_role_are_too_much() -> None:
    with pytest.raises(UsageError, match="an agent plays the role execute, which is swapped too"):
        through_agent(STANDARD.swap(SerialExecute), an_agent([]))
    assert flow(an_agent([])).lineup["stream"].__qualname__ == f"{AgentStream.__name__}[adder]"
