"""What happened, on the graph: visits, time, tokens, cost and errors of one run or many.

A drawing reads three attributes of nodes and edges that this sets, as does `diff`: `remarks` (more lines of the label),
`tone` (how it is drawn, here `never` for what did not happen) and `weight` (from 0 to 1).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from ..nodes.deps import Visit
from .declared import END, START
from .extract import FlowGraph, inner_nodes
from .figures import EdgeFigures, NodeFigures, Totals, edge_remarks, node_remarks, percentile


@dataclass(frozen=True)
class Spend:
    """What one model request took, and the role that made it; `cost` is in US dollars, `None` without a price."""

    role: str
    input_tokens: int
    output_tokens: int
    cost: Decimal | None


@dataclass(frozen=True)
class Run:
    """One turn, as its journal tells it."""

    turn_id: str
    visits: tuple[Visit, ...]
    spends: tuple[Spend, ...] = ()


def overlay(graph: FlowGraph, runs: Sequence[Run]) -> FlowGraph:
    """The graph with what happened on it: `figures` on nodes and edges, `totals` on the graph.

    Visits and steps that the graph has no place for are counted in its `notes`.
    """
    drawn = graph.copy()
    visits = [visit for run in runs for visit in run.visits]
    spends = [spend for run in runs for spend in run.spends]
    time = sum(visit.duration_ms for visit in visits)
    notes = list(graph.graph.get("notes", ()))
    known = set(inner_nodes(graph))
    for node in inner_nodes(drawn):
        figures = _node([visit for visit in visits if visit.role == node], [s for s in spends if s.role == node], time)
        drawn.nodes[node].update(
            figures=figures,
            remarks=node_remarks(figures),
            weight=figures.share,
            tone=None if figures.visits else "never",
        )
    strange = Counter(visit.role for visit in visits if visit.role not in known)
    notes += [f"{count} visits of {role} are not drawn: this graph has no such node" for role, count in strange.items()]
    notes += _edges(drawn, _steps(runs))
    drawn.graph["notes"] = tuple(notes)
    drawn.graph["totals"] = Totals(
        turns=len(runs),
        visits=len(visits),
        failed=sum(visit.to is None for visit in visits),
        duration_ms=time,
        input_tokens=sum(spend.input_tokens for spend in spends),
        output_tokens=sum(spend.output_tokens for spend in spends),
        cost=_cost(spends),
    )
    return drawn


def _node(visits: Sequence[Visit], spends: Sequence[Spend], time: float) -> NodeFigures:
    durations = sorted(visit.duration_ms for visit in visits)
    total = sum(durations)
    return NodeFigures(
        visits=len(visits),
        errors=sum(visit.error is not None for visit in visits),
        total_ms=total,
        share=total / time if time else 0.0,
        p50_ms=percentile(durations, 50),
        p95_ms=percentile(durations, 95),
        requests=len(spends),
        input_tokens=sum(spend.input_tokens for spend in spends),
        output_tokens=sum(spend.output_tokens for spend in spends),
        cost=_cost(spends),
    )


def _cost(spends: Sequence[Spend]) -> Decimal | None:
    priced = [spend.cost for spend in spends if spend.cost is not None]
    return sum(priced, Decimal(0)) if len(priced) == len(spends) else None


def _steps(runs: Sequence[Run]) -> Counter[tuple[str, str]]:
    """How often each step was taken; a visit that raised or was cancelled took none.

    A forked turn goes on with the numbers of the turn it came from, and did not begin at the start.
    """
    steps: Counter[tuple[str, str]] = Counter()
    for run in runs:
        first = min(run.visits, key=lambda visit: visit.number, default=None)
        if first is not None and first.number == 1:
            steps[START, first.role] += 1
        steps.update((visit.role, visit.to) for visit in run.visits if visit.to is not None)
    return steps


def _edges(drawn: FlowGraph, steps: Counter[tuple[str, str]]) -> list[str]:
    """Put the counts on the edges; what cannot be put on one, in words."""
    left = defaultdict[str, int](int)
    for (source, _), count in steps.items():
        left[source] += count
    twice: list[str] = []
    for source, target, number in drawn.edges(keys=True):
        count = steps[source, target] if number == 0 else 0
        figures = EdgeFigures(count, count / left[source] if left[source] else 0.0)
        if number and (steps[source, target]):
            twice.append(
                f"a journal does not tell the {number + 1} ways from {source} to {target} apart: see the first"
            )
        drawn.edges[source, target, number].update(
            figures=figures,
            remarks=edge_remarks(figures),
            weight=figures.probability,
            tone=None if count else "never",
        )
    strange = {step: count for step, count in steps.items() if count and not drawn.has_edge(*step)}
    drawn.nodes[END]["weight"] = drawn.nodes[START]["weight"] = 0.0
    return [
        *twice,
        *(f"{count} steps from {one} to {two} are not drawn: no such edge" for (one, two), count in strange.items()),
    ]
