"""Graphs of pydantic-graph that are not ours, in the shapes of its public examples and in hostile ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

import pytest
from pydantic_graph import BaseNode, Edge, End, GraphBuilder, GraphRunContext, StepContext, StepNode
from pydantic_graph.join import reduce_list_append, reduce_sum
from turngraph.graphs.declared import END, START
from turngraph.graphs.export import FORMATS, render_bytes, render_text
from turngraph.graphs.extract import FlowGraph, inner_nodes
from turngraph.graphs.foreign import extract_graph
from turngraph.graphs.rules import violations

if TYPE_CHECKING:
    from turngraph.nodes.outcome import TurnResult as OnlyChecked

Ctx = GraphRunContext[None, None]
Counted = StepContext[None, None, int]
T = TypeVar("T")


def zero(ctx: StepContext[None, None, object]) -> int:
    return 0


@dataclass
class Ask(BaseNode[None, None, str]):
    """Put a question."""

    async def run(self, ctx: Ctx) -> Answer:
        return Answer()


@dataclass
class Answer(BaseNode[None, None, str]):
    async def run(self, ctx: Ctx) -> Evaluate:
        return Evaluate()


@dataclass
class Evaluate(BaseNode[None, None, str]):
    async def run(self, ctx: Ctx) -> Annotated[End[str], Edge("right")] | Annotated[Reprimand, Edge("wrong")]:
        return End("")


@dataclass
class Reprimand(BaseNode[None, None, str]):
    async def run(self, ctx: Ctx) -> Annotated[Ask, Edge("again")]:
        return Ask()


def questions() -> FlowGraph:
    """Ask, answer, evaluate; a wrong answer goes round."""
    g: Any = GraphBuilder(name="questions", output_type=str)
    g.add(g.node(Ask), g.node(Answer), g.node(Evaluate), g.node(Reprimand), g.edge_from(g.start_node).to(Ask))
    return extract_graph(g.build(), "unused")


def fan_out() -> FlowGraph:
    """Split a list, work on each item at once, gather the results."""
    g: Any = GraphBuilder(input_type=list[int], output_type=list[int])

    @g.step
    async def split(ctx: StepContext[None, None, list[int]]) -> list[int]:
        """Cut the work up."""
        return ctx.inputs

    @g.step(label="Square it")
    async def square(ctx: Counted) -> int:
        return ctx.inputs**2

    gather = g.join(reduce_list_append, initial_factory=list[int], node_id="gather")
    g.add(
        g.edge_from(g.start_node).to(split),
        g.edge_from(split).label("each").map().to(square),
        g.edge_from(square).to(gather),
        g.edge_from(gather).to(g.end_node),
    )
    return extract_graph(g.build(), "fan_out")


def choices() -> FlowGraph:
    """Choose by value, work on two things side by side, add up, and go round or end."""
    g: Any = GraphBuilder(input_type=int, output_type=int)

    @g.step
    async def choose(ctx: Counted) -> Literal["more", "enough"]:
        return "more"

    @g.step
    async def left(ctx: StepContext[None, None, object]) -> int:
        return 1

    @g.step
    async def right(ctx: StepContext[None, None, object]) -> int:
        return 2

    total = g.join(reduce_sum, initial=0, node_id="total")
    g.add(
        g.edge_from(g.start_node).to(choose),
        g.edge_from(choose).to(
            g.decision(note="enough?")
            .branch(g.match(Literal["more"]).to(left, right))
            .branch(g.match(Literal["enough"]).label("stop").transform(zero).to(g.end_node))
        ),
        g.edge_from(left, right).to(total),
        g.edge_from(total).to(choose),
    )
    return extract_graph(g.build(), "choices")


def edges(graph: FlowGraph) -> set[tuple[str, str, str | None]]:
    return {(source, target, edge["label"]) for source, target, edge in graph.edges(data=True)}


def test_node_classes_with_the_labels_that_pydantic_graph_drops() -> None:
    graph = questions()
    assert graph.graph["name"] == "questions"
    assert edges(graph) == {
        (START, "Ask", None),
        ("Ask", "Answer", None),
        ("Answer", "Evaluate", None),
        ("Evaluate", END, "right"),
        ("Evaluate", "Reprimand", "wrong"),
        ("Reprimand", "Ask", "again"),
    }
    assert (graph.nodes["Ask"]["kind"], graph.nodes["Ask"]["doc"]) == ("node", "Put a question.")
    assert graph.graph["notes"] == ()


def test_steps_forks_and_joins() -> None:
    graph = fan_out()
    kinds = {node: graph.nodes[node]["kind"] for node in inner_nodes(graph)}
    assert kinds == {"split": "step", "square": "step", "map": "map", "gather": "join"}
    assert graph.nodes["square"]["cls"] == "Square it"
    assert graph.nodes["split"]["doc"] == "Cut the work up."
    assert edges(graph) == {
        (START, "split", None),
        ("split", "map", "each"),
        ("map", "square", None),
        ("square", "gather", None),
        ("gather", END, None),
    }


def test_decisions_say_what_each_branch_takes() -> None:
    graph = choices()
    (fork,) = (node for node in inner_nodes(graph) if graph.nodes[node]["kind"] == "fork")
    assert graph.nodes["decision"]["cls"] == "enough?"
    assert {edge for edge in edges(graph) if edge[0] == "decision"} == {
        ("decision", fork, "'more'"),
        ("decision", END, "stop"),
    }
    assert {(fork, "left", None), (fork, "right", None), ("total", "choose", None)} <= edges(graph)


@pytest.mark.parametrize("example", [questions, fan_out, choices])
def test_examples_are_checked_and_drawn_in_every_format(example: Any) -> None:
    graph = example()
    assert violations(graph) == []
    assert all(render_bytes(graph, format) for format in FORMATS)
    assert render_text(graph, 120)[1] is None


@dataclass
class end(BaseNode[None, None, str]):
    async def run(self, ctx: Ctx) -> Annotated[start[int], Edge("to start")] | End[str]:
        return End("")


@dataclass
class start(BaseNode[None, None, str], Generic[T]):
    async def run(self, ctx: Ctx) -> end:
        return end()


def test_nodes_that_are_called_start_and_end_are_not_the_start_and_the_end() -> None:
    g: Any = GraphBuilder(output_type=str)
    g.add(g.node(start[int]), g.node(end), g.edge_from(g.start_node).to(start[int]))
    graph = extract_graph(g.build(), "x")
    assert edges(graph) == {
        (START, "start (node)", None),
        ("start (node)", "end (node)", None),
        ("end (node)", "start (node)", "to start"),
        ("end (node)", END, None),
    }
    assert [graph.nodes[node]["cls"] for node in inner_nodes(graph)] == ["start", "end"]


def test_a_node_may_lead_to_a_step_and_a_step_to_a_node() -> None:
    g: Any = GraphBuilder(output_type=str)

    @g.step
    async def count(ctx: Counted) -> Annotated[Hand, Edge("on")] | End[str]:
        return End("")

    @dataclass
    class Hand(BaseNode[None, None, str]):
        async def run(self, ctx: Ctx) -> Annotated[StepNode[None, None], count, Edge("back")]:
            return count.as_node(1)

    g.add(g.node(Hand), g.edge_from(g.start_node).to(Hand))
    assert edges(extract_graph(g.build(), "x")) == {
        (START, "Hand", None),
        ("Hand", "count", "back"),
        ("count", "Hand", "on"),
        ("count", END, None),
    }


def test_classes_of_a_function_are_resolved_by_the_graph_they_are_in() -> None:
    @dataclass
    class One(BaseNode[None, None, str]):
        async def run(self, ctx: Ctx) -> Annotated[Two, Edge("local")]:
            return Two()

    @dataclass
    class Two(BaseNode[None, None, str]):
        async def run(self, ctx: Ctx) -> End[str]:
            return End("")

    g: Any = GraphBuilder(output_type=str)
    g.add(g.node(One), g.node(Two), g.edge_from(g.start_node).to(One))
    graph = extract_graph(g.build(), "x")
    assert ("One", "Two", "local") in edges(graph)
    assert graph.graph["notes"] == ()


def test_labels_that_cannot_be_read_are_told_and_the_edges_stay() -> None:
    @dataclass
    class Alone(BaseNode[None, None, Any]):
        async def run(self, ctx: Ctx) -> End[OnlyChecked]:
            raise NotImplementedError

    g: Any = GraphBuilder(output_type=str)
    written = Alone.run.__annotations__["return"]
    Alone.run.__annotations__["return"] = "End[str]"
    g.add(g.node(Alone), g.edge_from(g.start_node).to(Alone))
    built = g.build()
    Alone.run.__annotations__["return"] = written
    graph = extract_graph(built, "x")
    assert ("Alone", END, None) in edges(graph)
    (note,) = graph.graph["notes"]
    assert note.startswith("labels are missing: the return annotation of ")
    assert "OnlyChecked" in note


def test_a_graph_that_pydantic_graph_accepts_and_that_never_ends_is_found() -> None:
    @dataclass
    class Begin(BaseNode[None, None, str]):
        async def run(self, ctx: Ctx) -> Annotated[End[str], Edge("out")] | Annotated[Round, Edge("in")]:
            return End("")

    @dataclass
    class Round(BaseNode[None, None, str]):
        async def run(self, ctx: Ctx) -> Round:
            return self

    g: Any = GraphBuilder(output_type=str)
    g.add(g.node(Begin), g.node(Round), g.edge_from(g.start_node).to(Begin))
    assert [(one.rule, one.nodes) for one in violations(extract_graph(g.build(), "x"))] == [("livelock", ("Round",))]


def test_an_orphan_and_a_node_without_a_way_to_the_end_are_named() -> None:
    """T8-01."""
    g: Any = GraphBuilder(output_type=int)

    @g.step
    async def a(ctx: Counted) -> int:
        return 1

    @g.step
    async def b(ctx: Counted) -> int:
        return 1

    @g.step
    async def orphan(ctx: Counted) -> int:
        return 1

    @g.step
    async def c(ctx: Counted) -> int:
        return 1

    g.add(
        g.edge_from(g.start_node).to(a),
        g.edge_from(a).to(b, c),
        g.edge_from(b).to(g.end_node),
        g.edge_from(orphan).to(b),
    )
    broken = violations(extract_graph(g.build(validate_graph_structure=False), "x"))
    assert [(one.rule, one.nodes) for one in broken] == [("unreachable", ("orphan",)), ("dead_end", ("c",))]
