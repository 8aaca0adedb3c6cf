"""What a benchmark measures, and how it is shown: a figure of ours, one of a peer in the same run, and their ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal


@dataclass(frozen=True)
class Row:
    """One figure against its peer, in milliseconds or megabytes for each round; `at_most` bounds their ratio."""

    what: str
    ours: Sequence[float]
    peer_name: str
    peer: Sequence[float]
    at_most: float
    unit: Literal["ms", "MB"] = "ms"

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios: what slows the machine down for a while slows both sides of a round."""
        return median(ours / peer for ours, peer in zip(self.ours, self.peer, strict=True))

    @property
    def met(self) -> bool:
        return self.ratio <= self.at_most


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a table: medians, ratio, target."""
    lines = ["| | turngraph | peer | ratio | target | |", "|---|---|---|---|---|---|"]
    for row in rows:
        ours, peer = (_shown(median(side), row.unit) for side in (row.ours, row.peer))
        verdict = "met" if row.met else "**missed**"
        lines.append(
            f"| {row.what} | {ours} | {row.peer_name}: {peer} | {row.ratio:.2f} | ≤ {row.at_most:.2f} | {verdict} |"
        )
    return "\n".join(lines)


def _shown(value: float, unit: str) -> str:
    return f"{value:,.2f} {unit}" if value < 100 else f"{value:,.0f} {unit}"
