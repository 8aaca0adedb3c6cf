"""Turns for a person: a list of them, and the journal of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from rich.text import Text

from ...tools.wording import count
from ..store import TurnBody
from ..summaries import TurnSummary
from ..told import Step
from . import wording
from .columns import Column, print_columns
from .paper import console_on
from .terminal import encodable, plain, visible

_LONGEST_WORDS = 200
_BAD = ("error", "refused", "cancelled", "unknown")


def print_turns(turns: Sequence[TurnSummary], stream: TextIO) -> None:
    """Write a table, one line a turn."""
    columns = [
        Column("TURN", [one.id[:8] for one in turns]),
        Column("BEGAN", [f"{one.begun.astimezone():%Y-%m-%d %H:%M}" if one.begun else "-" for one in turns]),
        Column("OUTCOME", [outcome_of(one) for one in turns]),
        Column("VISITS", [str(one.visits) for one in turns], may_go=True),
        Column("ITERATIONS", ["-" if one.iterations is None else str(one.iterations) for one in turns], may_go=True),
        Column("COST", [_cost(one) for one in turns], may_go=True),
        Column("PROMPT", [visible(" ".join((one.prompt or "-").split())) for one in turns], may_shrink=True),
        Column("SESSION", [one.session for one in turns], may_go=True),
    ]
    if any(one.forked_from for one in turns):
        columns.append(Column("FORK OF", [(one.forked_from or "-")[:8] for one in turns], may_go=True))
    print_columns(columns, stream)


def outcome_of(turn: TurnSummary) -> str:
    """How a turn ended, or who runs it."""
    if turn.outcome is not None:
        return turn.outcome.value.replace("_", " ")
    return turn.state if turn.pid is None else f"{turn.state} ({turn.pid})"


def print_journal(turn: TurnSummary, body: TurnBody, steps: Sequence[Step], stream: TextIO) -> None:
    """Write what a turn was and did, by its numbered visits."""
    console = console_on(stream)
    ellipsis = "…" if encodable("…", stream) else "..."
    for line in _lines(turn, body, steps):
        if console.is_terminal:
            line.truncate(console.width, overflow="ellipsis" if ellipsis == "…" else "crop")
        console.print(line, soft_wrap=not console.is_terminal)


def _lines(turn: TurnSummary, body: TurnBody, steps: Sequence[Step]) -> Iterator[Text]:
    head = body.head
    began = f"{turn.begun.astimezone():%Y-%m-%d %H:%M:%S}" if turn.begun else "at an unknown time"
    yield Text(f"turn {turn.id}", style="bold")
    yield Text(f"  {outcome_of(turn)}, began {began}")
    yield Text(f"  model {visible(turn.model)}, flow {visible(head.flow)}, policy {visible(head.policy)}")
    yield Text(f"  session {turn.session}, in {visible(head.workdir)}")
    if turn.forked_from is not None:
        yield Text(f"  forked from turn {turn.forked_from}")
    yield Text(f"> {wording.cut(visible(' '.join(plain(body.said).split())), _LONGEST_WORDS)}", style="bold")
    ways = [_way(step, turn) for step in steps]
    width = max(map(len, ways), default=0)
    for step, way in zip(steps, ways, strict=True):
        number = "-" if step.number is None else str(step.number)
        line = Text(f"{number:>4}  {way}")
        if step.number is not None:
            line.append(f"{'':{width - len(way)}}  {_duration(step.duration_ms)}", style="dim")
        yield line
        if step.error is not None:
            yield Text(f"      raised {visible(' '.join(step.error.split()))}", style="red")
        for event in step.events:
            yield from _told(event, runs=turn.pid is not None)
    if not steps:
        yield Text("      nothing was done yet")


def _way(step: Step, turn: TurnSummary) -> str:
    if step.number is not None:
        return f"{step.role} -> {step.to or 'nowhere'}"
    if turn.state == "ended":
        return "afterwards"
    return f"{step.role or 'the first node'} ({turn.state})"


def _told(event: dict[str, Any], *, runs: bool) -> Iterator[Text]:
    match event["kind"]:
        case "reply":
            if text := " ".join(plain(event["text"]).split()):
                yield _indented("says", wording.cut(visible(text), _LONGEST_WORDS))
            for call in event["calls"]:
                yield _indented("asks", f"{visible(call['name'])} {wording.short_arguments(call['args'])}")
            if not event["text"].strip() and not event["calls"]:
                yield _indented("says", "nothing")
        case "result":
            said = f"{visible(event['name'])} {wording.short_arguments(event['args'])}".rstrip()
            edited = f"  edited {', '.join(map(visible, event['edited']))}" if event["edited"] else ""
            style = "magenta" if event["status"] in _BAD else "green"
            yield _indented(event["status"], f"{said}  {wording.duration(event['duration_ms'])}{edited}", style=style)
        case "unknown":
            said = f"{visible(event['name'])} {wording.short_arguments(event['args'])}".rstrip()
            if runs:
                yield _indented("runs", said)
            else:
                yield _indented("unknown", f"{said}: it began, and nobody knows how it ended", style="red")
        case "repair":
            yield _indented("mended", visible(event["text"]))
        case "prune":
            yield _indented("cleared", f"old results, but for those of the last {count(event['whole'], 'reply')}")
        case "compact":
            yield _indented("summed up", f"the history before its last {count(event['kept'], 'reply')}")
        case "seal":
            yield _indented("sealed", count(event["messages"], "message"), style="dim")
        case "tree":
            yield _indented("kept", f"the files, as {event['commit'][:12]}", style="dim")
        case "external":
            yield _indented("got", wording.cut(visible(" ".join(event["text"].split())), _LONGEST_WORDS))
        case "resume":
            yield _indented("resumed", f"by process {event['pid']} on {visible(event['host'])}", style="magenta")
        case "guidance":
            yield _indented("told", wording.cut(visible(" ".join(event["text"].split())), _LONGEST_WORDS))
        case _:
            yield _indented("damaged", f"row {event['row']} cannot be read", style="red")


def _indented(verb: str, text: str, style: str = "") -> Text:
    line = Text("      ")
    line.append(verb, style=style)
    line.append(f" {text}")
    return line


def _duration(ms: float) -> str:
    return f"{ms:.1f} ms" if ms < 10 else wording.duration(round(ms))


def _cost(turn: TurnSummary) -> str:
    return "-" if turn.cost is None else f"${turn.cost:.4f}"
