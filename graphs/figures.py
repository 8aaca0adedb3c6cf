"""Figures of runs, and how they are written on a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from ..tools.wording import count


@dataclass(frozen=True)
class NodeFigures:
    """One node's part of the runs. Times are in milliseconds; `share` is of the time of all nodes; percentiles are
    of its visits, nearest rank; `cost` is in US dollars, `None` where a request had no known price."""

    visits: int
    errors: int
    total_ms: float
    share: float
    p50_ms: float
    p95_ms: float
    requests: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None


@dataclass(frozen=True)
class EdgeFigures:
    """How often an edge was taken, and its share of all steps that its source took."""

    count: int
    probability: float


@dataclass(frozen=True)
class Totals:
    """All runs together; `failed` counts visits that raised or were cancelled."""

    turns: int
    visits: int
    failed: int
    duration_ms: float
    input_tokens: int
    output_tokens: int
    cost: Decimal | None


def percentile(ordered: Sequence[float], percent: int) -> float:
    """The nearest-rank percentile of values in ascending order; 0 of none."""
    if not ordered:
        return 0.0
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(rank, 1) - 1]


def node_remarks(figures: NodeFigures) -> tuple[str, ...]:
    if not figures.visits:
        return ("never ran",)
    lines = [
        f"{figures.visits} x, {portion(figures.share)} of the time",
        f"p50 {duration(figures.p50_ms)}, p95 {duration(figures.p95_ms)}",
    ]
    if figures.requests:
        lines.append(f"{figures.input_tokens:,} + {figures.output_tokens:,} tokens")
        if figures.cost is not None:
            lines.append(dollars(figures.cost))
    if figures.errors:
        lines.append(f"{figures.errors} failed")
    return tuple(lines)


def edge_remarks(figures: EdgeFigures) -> tuple[str, ...]:
    return (f"{figures.count} x, {portion(figures.probability)}",) if figures.count else ()


def totals_line(totals: Totals) -> str:
    parts = [
        count(totals.turns, "turn"),
        f"{totals.visits} visits",
        duration(totals.duration_ms),
        f"{totals.input_tokens:,} + {totals.output_tokens:,} tokens",
        "price unknown" if totals.cost is None else dollars(totals.cost),
    ]
    return ", ".join(parts + ([f"{totals.failed} failed"] if totals.failed else []))


def portion(share: float) -> str:
    """A share in percent; what is neither nothing nor all is not rounded to either."""
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share:.0%}"


def duration(ms: float) -> str:
    """Milliseconds as a person says them."""
    if ms < 9.95:
        return f"{ms:.1f} ms"
    if ms < 999.5:
        return f"{ms:.0f} ms"
    if ms < 59_950:
        return f"{ms / 1000:.1f} s"
    seconds = round(ms / 1000)
    return f"{seconds // 60} min {seconds % 60} s"


def dollars(cost: Decimal) -> str:
    return f"${cost:.4f}" if cost < 1 else f"${cost:.2f}"
