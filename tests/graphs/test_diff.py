from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hypothesis import given
from hypothesis import strategies as st
from pydantic_graph import Edge
from turngraph import nodes
from turngraph.flows.flow import STANDARD
from turngraph.graphs.declared import END
from turngraph.graphs.diff import EdgeChange, NodeChange, compare, deltas, merged
from turngraph.graphs.export import render
from turngraph.graphs.extract import START, extract
from turngraph.graphs.overlay import Run, Spend, overlay
from turngraph.nodes.deps import Visit
from turngraph.nodes.node import Ctx

from .castings import drawn

EDGES = st.lists(
    st.tuples(st.sampled_from([START, "a", "b", "c"]), st.sampled_from(["a", "b", "c", END])), min_size=1, max_size=9
)


@dataclass
class Choosy(nodes.Execute):
    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("some in")]:
        return nodes.Persist()


def test_a_flow_is_no_different_from_itself() -> None:
    found = compare(extract(STANDARD), extract(STANDARD))
    assert not found
    assert (found.nodes, found.edges) == ((), ())


def test_a_swapped_class_and_a_label_that_changed() -> None:
    before, after = extract(STANDARD), extract(STANDARD.swap(Choosy))
    found = compare(before, after)
    assert found.nodes == (NodeChange("execute", "Execute (turngraph.nodes.execute)", f"Choosy ({__name__})"),)
    assert found.edges == (EdgeChange("execute", "persist", "changed", "results in", "some in"),)
    drawing = merged(before, after)
    assert drawing.nodes["execute"]["remarks"] == ("was Execute",)
    assert drawing.edges["execute", "persist", 0]["tone"] == "changed"
    assert "was: results in" in render(drawing, "svg")
    assert "classDef changed" in render(drawing, "mermaid")


def test_a_node_in_another_state_is_a_change() -> None:
    before = drawn((START, "a"), ("a", END), states={"a": "assistant"})
    after = drawn((START, "a"), ("a", END), states={"a": "response"})
    assert compare(before, after).nodes == (NodeChange("a", "A in assistant", "A in response"),)


@given(one=EDGES, two=EDGES)
def test_what_is_told_turns_one_graph_into_the_other(one: list[tuple[str, str]], two: list[tuple[str, str]]) -> None:
    before, after = drawn(*one), drawn(*two)
    found = compare(before, after)
    labelled = [(source, target, edge["label"]) for source, target, edge in before.edges(data=True)]
    for change in found.edges:
        if change.kind != "added":
            labelled.remove((change.source, change.target, change.before))
        if change.kind != "removed":
            labelled.append((change.source, change.target, change.after))
    assert sorted(labelled) == sorted(
        (source, target, edge["label"]) for source, target, edge in after.edges(data=True)
    )
    kept = set(before) - {change.node for change in found.nodes if change.after is None}
    assert kept | {change.node for change in found.nodes if change.before is None} == set(after)
    drawing = merged(before, after)
    assert set(drawing) == set(before) | set(after)
    tones = [edge["tone"] for _, _, edge in drawing.edges(data=True)]
    for kind in ("added", "removed", "changed"):
        assert tones.count(kind) == sum(change.kind == kind for change in found.edges)
    assert len(tones) == after.number_of_edges() + tones.count("removed")


def test_with_runs_on_both_sides_the_figures_are_compared() -> None:
    def run(ms: float, tokens: int, error: str | None = None) -> Run:
        visits = (Visit(1, "stream", "m:Stream", 1, "process_node", ms, error),)
        return Run("t", visits, (Spend("stream", tokens, 0, None),))

    graph = extract(STANDARD)
    before, after = overlay(graph, [run(100, 10)]), overlay(graph, [run(50, 7), run(70, 7, "E: x")])
    assert deltas(before, after, "stream") == [
        "visits 1 -> 2",
        "p50 100 ms -> 50 ms",
        "tokens 10 -> 14",
        "failed 0 -> 1",
    ]
    assert deltas(before, after, "execute") == []
    assert deltas(graph, after, "stream") == []
    assert merged(before, after).nodes["stream"]["remarks"][0] == "visits 1 -> 2"
