"""`turngraph run`: its options, and nothing that is slow to load."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from .failures import Misuse
from .options import Chosen, Shown, with_turn_options
from .prompt import Prompt, read_prompt

EPILOG = """\b
Examples:
  turngraph run "where is the retry limit set?"
  turngraph run --continue "raise it to 5 and run the tests"
  git diff | turngraph run --policy read-only "review this" -o review.md
"""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """One `turngraph run`, checked as far as its own words go."""

    prompt: Prompt
    session: str | None
    continue_: bool
    fork: str | None
    workdir: Path
    chosen: Chosen
    shown: Shown
    dry_run: bool = False
    explain_context: bool = False


app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EPILOG)
@with_turn_options
def run(
    *,
    prompt: Annotated[
        str | None,
        typer.Argument(help="What to do; - (or nothing, when something is piped in) reads it from stdin."),
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on with this session; the first digits of its id do.")
    ] = None,
    continue_: Annotated[bool, typer.Option("--continue", help="Go on with the directory's latest session.")] = False,
    fork: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Begin a new session with all that was said in this one."),
    ] = None,
    stdin: Annotated[
        bool | None,
        typer.Option(
            "--stdin/--no-stdin",
            help="Add what is piped in to PROMPT, or leave it alone. By default a file or a pipe is added.",
        ),
    ] = None,
    cwd: Annotated[Path | None, typer.Option(metavar="DIR", help="Work in this directory.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the first request as JSON; nothing is asked and nothing stored.")
    ] = False,
    explain_context: Annotated[
        bool,
        typer.Option("--explain-context", help="Say why each message would be sent, or not; nothing is asked."),
    ] = False,
    chosen: Chosen,
    how: Shown,
) -> int:
    """Run one turn: ask, let the tools work, print the answer.

    stdout carries the answer (or JSON) and nothing else; progress, questions and errors go to stderr. On a terminal
    the answer is shown as Markdown while it comes.

    What is piped in beside a PROMPT goes under it, in a fence: a file or a pipe to its end, at most 4 MiB. Where no
    person watches, a pipe on which nothing comes in 3 seconds is left alone, and that is said. In a loop that reads
    the same stdin, give --no-stdin.

    With --policy ask (the default) what writes or executes is shown first, edits as a diff: y runs it, n REASON
    refuses it and tells the model why, s says yes for this session (to every call of a tool that writes, to exactly
    this call of any other), a or Ctrl-C ends the turn, which stays saved. A yes for the session is kept in this
    process only: the next run asks again, also with --continue. Without a terminal nothing waits: such calls are
    refused.

    --swap takes a name that `turngraph nodes list` shows, module:Class of what is installed or on PYTHONPATH, or
    path/to/file.py:Class. How the flow differs from the standard one is said first; a flow that breaks a rule of
    `turngraph graph check` is refused before any model is called.

    --agent runs the turn through an agent of yours, found as by --swap: its instructions, tools and capabilities in
    place of this program's, and its model unless one is configured; policy, limits and sessions stay.

    --dry-run prints the request that the turn would begin with, as the model's adapter gets it: schema
    (turngraph.request/1), model, settings, instructions, tools [{name, description, parameters}], messages (as
    pydantic-ai writes them) and notices. --explain-context says of every message why it would be sent, cleared,
    summarised, mended or left out: a table, or with --output json schema (turngraph.context/1) and messages [{number,
    kind, label, tokens, stored_tokens, verdict, why}]. Nothing is asked for either, so a summary that would be needed
    is said and not made.

    With --output json, one document: schema (turngraph.turn/1), outcome, exit_code, answer, error {kind, message}
    or null, turn_id, session_id, request_id, flow, model, iterations, usage, cost_usd, duration_ms,
    edited_files, saved, lineup {role: {class, source}}, graph_hash, tool_calls [{name, status, args,
    duration_ms, size, edited_files}], notices. With jsonl, one line an event: schema (turngraph.event/1), type,
    and the event's fields; the last line is turn_ended.

    Exit codes: 0 completed, 1 internal error, 2 usage, 3 provider failure, 4 budget exhausted, 5 refused,
    6 no usable answer, 7 session busy, 130 interrupted or aborted, 143 terminated.
    """
    if sum((session is not None, continue_, fork is not None)) > 1:
        raise Misuse("--session, --continue and --fork each choose a session; give only one of them")
    options = RunOptions(
        workdir=_directory(cwd),
        prompt=read_prompt(prompt, stdin),
        session=session,
        continue_=continue_,
        fork=fork,
        chosen=chosen,
        shown=how,
        dry_run=dry_run,
        explain_context=explain_context,
    )
    if dry_run or explain_context:
        from .previewing import preview_once

        return preview_once(options)
    from .beginning import run_once

    return run_once(options)


def _directory(path: Path | None) -> Path:
    try:
        found = (path or Path()).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise Misuse(f"the directory {path or '.'} cannot be used: {_why(error)}") from None
    if not found.is_dir():
        raise Misuse(f"{path} is no directory; --cwd needs one to work in")
    return found


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
