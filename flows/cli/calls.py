"""How a call looks on the screen: one line, why it failed, and, if wanted, how its result begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from ...nodes.events import ToolFinished
from ...nodes.slots import CallStatus
from ...tools.wording import count
from . import wording
from .terminal import visible

PREVIEW_LINES = 12
_WIDEST = 200

# Each can be read on black and on white.
_COLOURS = {
    CallStatus.OK: "green",
    CallStatus.ERROR: "red",
    CallStatus.REFUSED: "magenta",
    CallStatus.CANCELLED: "magenta",
    CallStatus.UNKNOWN: "red",
}
_DIFF = {"+": "green", "-": "red", "@": "cyan"}


def label(name: str, args: Any) -> str:
    """A call in a few words."""
    return f"{visible(name)} {wording.short_arguments(args)}".rstrip()


def finished_lines(event: ToolFinished, console: Console, *, verbose: bool) -> Iterator[Text]:
    """A finished call, as lines for this console: one of the terminal's width, then more if there is more to say."""
    status = event.status
    facts = [status.value]
    if status is CallStatus.OK:
        facts.append(wording.size(event))
    facts.append(wording.duration(event.duration_ms))
    head = f"  {label(event.name, event.args)}"
    tail = "".join(f"  {fact}" for fact in facts)
    ellipsis = "…" if console.encoding.startswith("utf") else "..."
    if console.is_terminal:
        head = wording.fit(head, console.width - len(tail), ellipsis)
    line = Text(head)
    line.append(f"  {status.value}", style=_COLOURS[status])
    line.append(tail[len(status.value) + 2 :], style="dim")
    yield line
    if verbose:
        yield from _beginning(event, console.width if console.is_terminal else _WIDEST, ellipsis)
    elif status is not CallStatus.OK:
        yield Text(f"    {wording.reason(event.result)}", style=_COLOURS[status])


def _beginning(event: ToolFinished, width: int, ellipsis: str) -> Iterator[Text]:
    lines = event.result.splitlines()
    is_diff = any(line.startswith("@@ ") for line in lines)
    for line in lines[:PREVIEW_LINES]:
        colour = _DIFF.get(line[:1]) if is_diff else None
        yield Text(wording.fit(f"    {visible(line.expandtabs(4))}", width, ellipsis), style=colour or "dim")
    if len(lines) > PREVIEW_LINES:
        yield Text(f"    [{count(len(lines) - PREVIEW_LINES, 'more line')} not shown]", style="dim")
    if event.size > len(event.result):
        kept = f"{len(event.result):,} of {count(event.size, 'character')}"
        yield Text(f"    [only {kept} are kept to be shown]", style="dim")
