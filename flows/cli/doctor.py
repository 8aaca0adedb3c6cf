"""`turngraph doctor`: what is configured, which model would answer, what is missing."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .terminal import visible

if TYPE_CHECKING:
    from ..doctor import Line, Report

EPILOG = """\b
Examples:
  turngraph doctor
  turngraph doctor --local
  turngraph doctor --repair
  turngraph doctor --output json | jq '.sections[].lines[] | select(.status == "problem")'
"""


app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EPILOG)
def doctor(
    cwd: Annotated[Path | None, typer.Option(metavar="DIR", help="As for a turn in this directory.")] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Ask the usual ports of this machine for Ollama, llama.cpp and vLLM.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="First mend the store where it is damaged; the damaged file is kept.")
    ] = False,
    output: Annotated[Literal["text", "json"], typer.Option(help="For a person, or one JSON document.")] = "text",
) -> int:
    """Say what is configured, which model would answer and why, and how to mend what is missing.

    Nothing is written without --repair, no key's value is shown, and no server is asked, except those of this machine
    with --local. Lines are ok, missing (could be there, need not) or problem (does not work).

    With --output json: schema (turngraph.doctor/1), can_run, sections [{title, lines [{status, text, mend,
    blocks}]}].

    Exit codes: 0 a turn could run, 2 it could not.
    """
    from ..doctor import examine

    report = examine(os.environ, cwd or Path.cwd(), local=local, repair=repair)
    typer.echo(json.dumps(_document(report)) if output == "json" else _text(report))
    sys.stdout.flush()
    return 0 if report.can_run else 2


def _text(report: Report) -> str:
    parts = ["\n".join([section.title, *map(_line, section.lines)]) for section in report.sections]
    blocking = [line for section in report.sections for line in section.lines if line.blocks]
    if blocking:
        parts.append(f"No turn can run: {len(blocking)} of the problems above must be mended first.")
    else:
        parts.append("A turn can run.")
    return "\n\n".join(parts)


def _line(line: Line) -> str:
    text = f"  {line.status:8} {visible(line.text)}"
    return f"{text}\n           -> {visible(line.mend)}" if line.mend else text


def _document(report: Report) -> dict[str, Any]:
    return {
        "schema": "turngraph.doctor/1",
        "can_run": report.can_run,
        "sections": [
            {
                "title": section.title,
                "lines": [
                    {"status": line.status, "text": line.text, "mend": line.mend or None, "blocks": line.blocks}
                    for line in section.lines
                ],
            }
            for section in report.sections
        ],
    }
