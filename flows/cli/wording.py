"""How a finished call and a finished turn read in one line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from rich.cells import cell_len, set_cell_size

from ...nodes.events import ToolFinished
from ...nodes.outcome import TurnResult
from ...tools.wording import count
from .terminal import visible

_BARE = re.compile(r"[\w./*~@:+-]+")
_LONGEST_ARGUMENT = 60
_LONGEST_REASON = 200


def short_arguments(args: Any) -> str:
    """A call's arguments at a glance: text bare where that is clear, long text cut, many lines counted."""
    if not isinstance(args, Mapping):
        return "" if args is None else _short(args)
    return " ".join(
        _short(value) if isinstance(value, str) else f"{visible(str(key))}={_short(value)}"
        for key, value in cast(Mapping[Any, Any], args).items()
        if value is not None
    )


def size(event: ToolFinished) -> str:
    """How much a call gave: lines where its whole result is at hand and has several, else characters."""
    lines = len(event.result.splitlines())
    if event.size == len(event.result) and lines > 1:
        return f"{lines} lines"
    return count(event.size, "character")


def reason(result: str) -> str:
    """The first line of a failed call's result that says anything."""
    first = next((line.strip() for line in result.splitlines() if line.strip()), "no reason was given")
    return cut(visible(first), _LONGEST_REASON)


def duration(ms: int) -> str:
    """Milliseconds below one second, seconds below one minute, then minutes."""
    if ms < 1000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    return f"{ms // 60_000} min {ms % 60_000 // 1000} s"


def summary(result: TurnResult) -> list[str]:
    """The facts of a turn's last line: outcome, iterations, tokens, cost where priced, time, edited files."""
    facts = [
        result.outcome.value.replace("_", " "),
        count(result.iterations, "iteration"),
        f"{result.usage.input_tokens:,} tokens in, {result.usage.output_tokens:,} out",
    ]
    if result.cost:
        facts.append(f"${result.cost:.4f}" if result.cost >= Decimal("0.0001") else "under $0.0001")
    facts.append(duration(result.duration_ms))
    if result.edited_files:
        facts.append("edited " + ", ".join(map(visible, result.edited_files)))
    return facts


def cut(text: str, longest: int) -> str:
    """Text of at most so many characters; a cut shows as three dots."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def fit(text: str, width: int, ellipsis: str = "...") -> str:
    """Text of at most so many columns; a cut shows."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - cell_len(ellipsis), 0)) + ellipsis


def _short(value: Any) -> str:
    if not isinstance(value, str):
        return cut(visible(repr(value)), _LONGEST_ARGUMENT)
    lines = value.count("\n")
    if lines > 1:
        return f"({lines + (not value.endswith(chr(10)))} lines)"
    if _BARE.fullmatch(value):
        return cut(value, _LONGEST_ARGUMENT)
    return cut(visible(json.dumps(value, ensure_ascii=False)), _LONGEST_ARGUMENT)
