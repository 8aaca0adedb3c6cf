from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turngraph.flows.flow import STANDARD
from turngraph.graphs.declared import END
from turngraph.graphs.export import render
from turngraph.graphs.extract import START, FlowGraph, extract
from turngraph.graphs.figures import dollars, duration, percentile, portion
from turngraph.graphs.overlay import Run, Spend, overlay
from turngraph.nodes.deps import Visit

from .castings import drawn

ROLES = [*STANDARD.lineup, "stranger"]
VISITS = st.builds(
    Visit,
    number=st.integers(1, 99),
    role=st.sampled_from(ROLES),
    cls=st.just("m:C"),
    iteration=st.integers(0, 9),
    to=st.sampled_from([*ROLES, END, None]),
    duration_ms=st.integers(0, 10_000).map(float),
    error=st.sampled_from([None, "ValueError: no"]),
)
SPENDS = st.builds(
    Spend,
    role=st.sampled_from(ROLES),
    input_tokens=st.integers(0, 1000),
    output_tokens=st.integers(0, 1000),
    cost=st.sampled_from([None, Decimal("0.01"), Decimal("2")]),
)
RUNS = st.lists(st.builds(Run, st.just("t"), st.lists(VISITS).map(tuple), st.lists(SPENDS).map(tuple)), max_size=4)


def visit(number: int, role: str, to: str | None, ms: float = 1.0, error: str | None = None) -> Visit:
    return Visit(number, role, f"turngraph.nodes.{role}:X", 1, to, ms, error)


def standard(runs: list[Run]) -> FlowGraph:
    return overlay(extract(STANDARD), runs)


@given(runs=RUNS)
def test_every_figure_is_what_the_visits_come_to(runs: list[Run]) -> None:
    graph = standard(runs)
    visits = [visit for run in runs for visit in run.visits]
    spends = [spend for run in runs for spend in run.spends]
    for role in STANDARD.lineup:
        own = [visit for visit in visits if visit.role == role]
        figures = graph.nodes[role]["figures"]
        assert figures.visits == len(own)
        assert figures.errors == len([visit for visit in own if visit.error])
        assert figures.total_ms == sum(visit.duration_ms for visit in own)
        times = [visit.duration_ms for visit in own]
        for percent, value in ((50, figures.p50_ms), (95, figures.p95_ms)):
            assert value == (
                min(t for t in times if sum(u <= t for u in times) * 100 >= percent * len(times)) if own else 0
            )
        paid = [spend for spend in spends if spend.role == role]
        assert figures.input_tokens == sum(spend.input_tokens for spend in paid)
        unknown = any(spend.cost is None for spend in paid)
        assert figures.cost == (None if unknown else sum((spend.cost or Decimal(0) for spend in paid), Decimal(0)))
        assert graph.nodes[role]["tone"] == (None if own else "never")
    everything = sum(visit.duration_ms for visit in visits)
    assert graph.graph["totals"].duration_ms == everything
    assert graph.graph["totals"].failed == len([visit for visit in visits if visit.to is None])
    shares = sum(graph.nodes[role]["figures"].share for role in STANDARD.lineup)
    strangers = sum(visit.duration_ms for visit in visits if visit.role == "stranger")
    assert not everything or math.isclose(shares, 1 - strangers / everything, abs_tol=1e-9)


@given(runs=RUNS)
def test_every_step_is_on_its_edge_or_is_told(runs: list[Run]) -> None:
    graph = standard(runs)
    steps = [(visit.role, visit.to) for run in runs for visit in run.visits if visit.to is not None]
    for source, target, edge in graph.edges(data=True):
        if source == START:
            continue
        count = steps.count((source, target))
        assert edge["figures"].count == count
        leaving = sum(one == source for one, _ in steps)
        assert edge["figures"].probability == (count / leaving if leaving else 0)
        assert edge["tone"] == (None if count else "never")
    told = sum(int(note.split()[0]) for note in graph.graph["notes"] if " steps from " in note)
    firsts = [min(visit.number for visit in run.visits) for run in runs if run.visits]
    begun = firsts.count(1) - graph.edges[START, "prepare_history", 0]["figures"].count
    assert told == begun + sum(not graph.has_edge(*step) for step in steps)
    strangers = sum(visit.role == "stranger" for run in runs for visit in run.visits)
    assert any(note.startswith(f"{strangers} visits of stranger") for note in graph.graph["notes"]) == bool(strangers)


def test_the_figures_are_in_every_drawing() -> None:
    runs = [
        Run(
            "t",
            (
                visit(1, "prepare_history", "stream", 10),
                visit(2, "stream", "process_node", 1500),
                visit(3, "process_node", "persist", 1),
                visit(4, "persist", "stream", 1),
                visit(5, "stream", None, 488, "ProviderError: gone"),
            ),
            (Spend("stream", 1200, 34, Decimal("0.0123")),),
        )
    ]
    graph = standard(runs)
    said = ["2 x, >99% of the time", "p50 488 ms, p95 1.5 s", "1,200 + 34 tokens", "$0.0123", "1 failed", "never ran"]
    for format in ("dot", "text"):
        drawing = render(graph, format)
        assert [words for words in said if words not in drawing] == []
    mermaid = render(graph, "mermaid")
    assert "class n4,n5 never" in mermaid
    assert "on error, 1 x" in mermaid
    assert "5 visits, 2.0 s, 1,200 + 34 tokens, $0.0123, 1 failed" in render(graph, "svg")
    page = render(graph, "html")
    assert "<dt>visits</dt><dd>2, of which 1 failed</dd>" in page
    assert '"probability": 1.0' in render(graph, "json")


def test_a_forked_turn_did_not_begin_at_the_start() -> None:
    graph = standard([Run("t", (visit(4, "dispatch", "persist"), visit(5, "persist", END)))])
    assert [edge["figures"].count for *_, edge in graph.out_edges(START, data=True)] == [0]
    assert graph.edges["dispatch", "persist", 0]["figures"].count == 1
    assert graph.graph["notes"] == ()


def test_two_ways_to_one_node_are_not_told_apart_by_a_journal_and_that_is_told() -> None:
    graph = drawn((START, "a"), ("a", "persist"), ("a", "persist"), ("persist", END))
    drawing = overlay(graph, [Run("t", (visit(1, "a", "persist"), visit(2, "persist", END)))])
    assert [edge["figures"].count for edge in drawing["a"]["persist"].values()] == [1, 0]
    assert drawing.graph["notes"] == ("a journal does not tell the 2 ways from a to persist apart: see the first",)


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0.0 ms"),
        (9.94, "9.9 ms"),
        (9.96, "10 ms"),
        (999, "999 ms"),
        (1000, "1.0 s"),
        (59_949, "59.9 s"),
        (59_960, "1 min 0 s"),
        (125_400, "2 min 5 s"),
    ],
)
def test_durations_as_a_person_says_them(ms: float, said: str) -> None:
    assert duration(ms) == said


def test_shares_money_and_percentiles() -> None:
    assert [portion(share) for share in (0, 0.001, 0.01, 0.5, 0.995, 1)] == ["0%", "<1%", "1%", "50%", ">99%", "100%"]
    assert [dollars(Decimal(amount)) for amount in ("0", "0.01234", "12.345")] == ["$0.0000", "$0.0123", "$12.34"]
    assert [percentile([], 50), percentile([1], 95), percentile([1, 2], 50), percentile([1, 2], 51)] == [0, 1, 1, 2]
