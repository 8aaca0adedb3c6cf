"""What a call would do, for a person to agree to: a diff of a file, or the call's arguments, exactly."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from pydantic_ai.exceptions import ToolFailed
from rich.cells import cell_len

from ...tools.policy import CallRequest
from ...tools.preview import preview
from ...tools.wording import count
from .terminal import visible

_LONGEST_LINE = 500


@dataclass(frozen=True)
class Proposal:
    """A title, and every line under it; nothing in them can hide or act on a terminal."""

    title: str
    lines: list[str]
    is_diff: bool = False


def propose(request: CallRequest, root: Path) -> Proposal:
    """Describe a call whole. A diff shows the file as it is now; the tool itself looks again when it runs."""
    name, effect = visible(request.tool_name), request.effect.value
    try:
        shown = preview(root, request.tool_name, request.args)
    except (ToolFailed, ValidationError, OSError) as error:
        why = visible(" ".join(str(error).split()))
        return Proposal(f"{name} wants to run ({effect}); as it stands it would fail: {why}", _arguments(request))
    if shown is None:
        return Proposal(f"{name} wants to run ({effect}):", _arguments(request))
    return Proposal(f"{name} {visible(shown.summary)} ({effect}):", [_tabs_kept(line) for line in shown.diff], True)


def excerpt(lines: Sequence[str], rows: int, width: int) -> tuple[list[str], bool]:
    """As many lines as fit into so many rows of the terminal, from both ends, and whether that left out anything.

    What is left out is counted where it is missing.
    """
    shown = [_cut(line) for line in lines]
    taller = [max(1, -(-cell_len(line) // width)) for line in shown]
    if sum(taller) <= rows:
        return shown, shown != list(lines)
    head = _fitting(taller, rows - rows // 3)
    tail = _fitting(taller[:head:-1], rows // 3)
    left_out = len(lines) - head - tail
    if not left_out:
        return shown, shown != list(lines)
    gap = f"[... {count(left_out, 'line')} not shown; v shows all ...]"
    return [*shown[:head], gap, *shown[len(shown) - tail :]], True


def _fitting(heights: Sequence[int], rows: int) -> int:
    """How many of the first lines fit; at least one."""
    used = 0
    for number, height in enumerate(heights):
        used += height
        if used > rows:
            return max(number, 1)
    return len(heights)


def _cut(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[:_LONGEST_LINE]}[... {count(len(line) - _LONGEST_LINE, 'more character')}; v shows all ...]"


def _arguments(request: CallRequest) -> list[str]:
    return list(_argument_lines(request)) if request.args else ["  (no arguments)"]


def _argument_lines(request: CallRequest) -> Iterator[str]:
    for name, value in request.args.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
        first, *rest = text.split("\n")
        yield f"  {visible(name)}: {visible(first)}"
        yield from (f"    {visible(line)}" for line in rest)


def _tabs_kept(line: str) -> str:
    return "\t".join(visible(piece) for piece in line.split("\t"))
