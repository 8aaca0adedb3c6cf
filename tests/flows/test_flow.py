from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import pytest
from pydantic_graph import Edge, End
from turngraph import nodes
from turngraph.flows.flow import STANDARD, Flow
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.graphs.declared import END
from turngraph.graphs.export import render
from turngraph.graphs.extract import extract
from turngraph.graphs.rules import check
from turngraph.nodes.errors import UsageError
from turngraph.nodes.events import NodeEntered, NodeLeft
from turngraph.nodes.node import Ctx, TurnNode, go
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.state import AGENT_STATE_MACHINE, AgentState, StateMachine

from ..nodes.acting import Actor, Scene, call, reading

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> int:
    return n


class Loud(nodes.Stream):
    """Streams, and says so."""


@dataclass
class Greedy(TurnNode):
    """Sends every reply through dispatch."""

    role = "process_node"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.Dispatch, Edge("always")]:
        await nodes.ProcessNode().run(ctx)
        return go(ctx, nodes.Dispatch)


@dataclass
class Hasty(TurnNode):
    """Goes on to Persist, which it does not declare."""

    role = "stream"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        ctx.state.iteration += 1
        return nodes.Persist()  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


@dataclass
class Outsider(TurnNode):
    role = "outsider"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("back")]:
        return go(ctx, nodes.Persist)


@dataclass
class Leaving(TurnNode):
    """Goes on to a class that the flow does not have."""

    role = "stream"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        return Outsider()  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


@dataclass
class Wandering(TurnNode):
    """Declares a role that the flow does not have."""

    role = "stream"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("a")] | Annotated[Outsider, Edge("b")]:
        return go(ctx, nodes.ProcessNode)


@dataclass
class Ending(TurnNode):
    """Ends a turn where it may not."""

    role = "process_node"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("on")] | Annotated[nodes.Dispatch, Edge("calls")]:
        return End(None)  # type: ignore[return-value]  # pyright: ignore


@dataclass
class Nothing(TurnNode):
    """Returns what is no node."""

    role = "process_node"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("on")] | Annotated[nodes.Dispatch, Edge("calls")]:
        return None  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


def test_a_swap_is_a_new_flow_and_keeps_the_rest() -> None:
    swapped = STANDARD.swap(Loud)
    assert STANDARD.lineup["stream"] is nodes.Stream
    assert swapped.lineup["stream"] is Loud
    assert {role: cls for role, cls in swapped.lineup.items() if role != "stream"} == {
        role: cls for role, cls in STANDARD.lineup.items() if role != "stream"
    }
    assert list(swapped.lineup) == list(STANDARD.lineup)
    assert swapped.edges == STANDARD.edges
    twice = swapped.swap(Greedy)
    assert (twice.lineup["stream"], twice.lineup["process_node"]) == (Loud, Greedy)
    assert twice.swap(nodes.Stream).lineup["stream"] is nodes.Stream


def test_a_variant_needs_a_role_of_the_flow() -> None:
    with pytest.raises(UsageError, match=r"Outsider has the role 'outsider'.*prepare_history, stream"):
        STANDARD.swap(Outsider)
    with pytest.raises(UsageError, match="TurnNode has the role None"):
        STANDARD.swap(TurnNode)


def test_an_edge_to_a_role_the_flow_lacks_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="Wandering goes on to the role 'outsider', which the flow standard"):
        _ = STANDARD.swap(Wandering).edges


async def test_a_start_that_is_no_role_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="nowhere"):
        await run_turn("x", model=Actor(), flow=replace(STANDARD, start="nowhere"))


def test_two_parts_with_one_role_are_a_usage_error() -> None:
    with pytest.raises(UsageError, match="stream"):
        check(replace(STANDARD, parts=(*STANDARD.parts, Loud)))


def test_the_edges_are_those_of_the_annotations() -> None:
    ways = {role: [way.to for way in found] for role, found in STANDARD.edges.items()}
    assert ways == {
        "prepare_history": ["stream"],
        "stream": ["process_node"],
        "process_node": ["dispatch", "persist"],
        "dispatch": ["execute", "persist"],
        "execute": ["persist"],
        "persist": ["stream", END],
    }


def test_the_graph_that_runs_has_the_nodes_that_are_drawn() -> None:
    running = set(map(str, STANDARD.swap(Greedy).graph.nodes))
    drawn = set(extract(STANDARD.swap(Greedy)).nodes)
    assert drawn - {"start", "end"} <= running


async def steps(flow: Flow, *replies: Any, **rest: Any) -> tuple[TurnResult, list[tuple[str, str | None]]]:
    sink = MemorySink()
    result = await run_turn("x", model=Actor(*replies), flow=flow, sink=sink, toolsets=[reading(look)], **rest)
    return result, [(event.role, event.to) for event in sink.events if isinstance(event, NodeLeft)]


async def test_a_variant_with_another_edge_changes_the_run_and_both_exports() -> None:
    standard, (result, walked) = STANDARD, await steps(STANDARD)
    assert (result.outcome, ("process_node", "persist") in walked) == (Outcome.COMPLETED, True)
    greedy = standard.swap(Greedy)
    result, walked = await steps(greedy)
    assert (result.outcome, result.answer) == (Outcome.COMPLETED, "Done.")
    assert ("process_node", "dispatch") in walked
    assert ("process_node", "persist") not in walked
    for format in ("mermaid", "text"):
        before, after = render(extract(standard), format), render(extract(greedy), format)
        assert "always" in after
        assert "usable" in before  # of "an answer, or nothing usable", which boxes may break over two lines
        assert "usable" not in after


async def test_every_step_of_a_run_is_drawn() -> None:
    result, walked = await steps(STANDARD, [call("look")], [""], [call("nothing")], ["Done."])
    assert result.outcome is Outcome.COMPLETED
    drawn = set(extract(STANDARD).edges())
    assert set(walked) <= drawn
    assert len(set(walked)) == len(drawn) - 1


def test_go_supplies_the_class_that_plays_the_role() -> None:
    scene = Scene()
    deps = replace(scene.deps, lineup=STANDARD.swap(Loud).lineup)
    assert type(go(Ctx(state=scene.state, deps=deps), nodes.Stream)) is Loud
    assert type(go(scene.ctx, nodes.Stream)) is nodes.Stream
    with pytest.raises(UsageError, match="no role 'outsider'; its roles are prepare_history"):
        go(scene.ctx, Outsider)


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        (Hasty, ["Hasty", "went on to persist", "declares process_node"]),
        (Leaving, ["Leaving", "went on to outsider", "declares process_node"]),
        (Ending, ["Ending", "went on to end", "declares dispatch, persist"]),
        (Nothing, ["None"]),
    ],
)
async def test_an_undeclared_transition_stops_the_turn_and_names_both_ends(
    variant: type[TurnNode], words: list[str]
) -> None:
    sink = MemorySink()
    result = await run_turn("x", model=Actor(), flow=STANDARD.swap(variant), sink=sink)
    assert result.outcome is Outcome.INTERNAL_ERROR
    assert all(word in (result.error or "") for word in words), result.error
    entered = [event.visit for event in sink.events if isinstance(event, NodeEntered)]
    left = [event for event in sink.events if isinstance(event, NodeLeft)]
    assert [event.visit for event in left] == entered
    assert left[-1].error
    assert left[-1].to is None


@dataclass
class Tampering(TurnNode):
    """Leaves a state that its edge does not follow from."""

    role = "stream"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        ctx.state.agent_state = AgentState.TOOL_EXECUTION
        return go(ctx, nodes.ProcessNode)


async def test_a_node_entered_from_an_illegal_state_stops_the_turn() -> None:
    result, walked = await steps(STANDARD.swap(Tampering))
    assert (result.outcome, walked[-1]) == (Outcome.INTERNAL_ERROR, ("stream", "process_node"))
    assert result.error == "process_node (assistant) was entered from the state tool_execution"


@dataclass
class Reviewing(TurnNode):
    """Looks at the reply in a state of its own."""

    role = "process_node"
    state = "review"

    async def run(
        self, ctx: Ctx
    ) -> Annotated[nodes.Dispatch, Edge("calls")] | Annotated[nodes.Persist, Edge("an answer")]:
        return await nodes.ProcessNode().run(ctx)


async def test_a_flow_may_have_a_machine_of_its_own() -> None:
    with pytest.raises(UsageError, match="illegal_state"):
        await steps(STANDARD.swap(Reviewing))
    machine = StateMachine(
        initial=AGENT_STATE_MACHINE.initial,
        transitions={
            **AGENT_STATE_MACHINE.transitions,
            "assistant": frozenset({"review"}),
            "review": frozenset({"tool_execution", "response"}),
        },
    )
    sink = MemorySink()
    flow = replace(STANDARD.swap(Reviewing), name="reviewed", machine=machine)
    result = await run_turn("x", model=Actor(), flow=flow, sink=sink)
    assert (result.outcome, result.flow) == (Outcome.COMPLETED, "reviewed")
    assert "review" in [event.state for event in sink.events if isinstance(event, NodeEntered)]
    assert "REVIEW" in render(extract(flow), "text")


async def test_a_flow_that_breaks_a_rule_runs_nothing() -> None:
    model = Actor()
    with pytest.raises(UsageError, match=r"none of the flow.s roles"):
        await run_turn("x", model=model, flow=STANDARD.swap(Wandering))
    assert model.requests == []


def test_a_flow_is_a_value() -> None:
    with pytest.raises(AttributeError):
        STANDARD.name = "other"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        STANDARD.lineup["stream"] = Loud  # type: ignore[index]  # pyright: ignore[reportIndexIssue]
    assert STANDARD.swap(Loud) == STANDARD.swap(Loud)
