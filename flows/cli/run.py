"""`turngraph run`: its options, and nothing that is slow to load."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

import typer

from .answer_file import AnswerFile
from .failures import Misuse
from .numbers import dollars, seconds, whole_number
from .prompt import Prompt, read_prompt

Output = Literal["text", "json", "jsonl"]
PolicyName = Literal["read-only", "ask", "auto"]

Thinking = Literal["hide", "fold", "show"]

EPILOG = """\b
Examples:
  turngraph run "where is the retry limit set?"
  turngraph run --continue "raise it to 5 and run the tests"
  git diff | turngraph run --policy read-only "review this" -o review.md
"""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """One `turngraph run`, checked as far as its own words go; `None` is an option not given."""

    prompt: Prompt
    model: str | None
    base_url: str | None
    session: str | None
    continue_: bool
    workdir: Path
    output: Output
    output_file: AnswerFile | None
    quiet: bool
    verbose: bool
    thinking: Thinking
    debug: bool
    policy: PolicyName | None
    max_iterations: int | None
    max_tokens: int | None
    max_total_tokens: int | None
    max_cost: Decimal | None
    timeout: float | None
    flow: str | None
    swap: tuple[str, ...]
    agent: str | None


app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EPILOG)
def run(
    prompt: Annotated[
        str | None,
        typer.Argument(help="What to do; - (or nothing, when something is piped in) reads it from stdin."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model that answers, such as openai:gpt-5-mini, or offline.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="A server that speaks OpenAI's chat completions, up to and with its /v1."),
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on with this session; the first digits of its id do.")
    ] = None,
    continue_: Annotated[bool, typer.Option("--continue", help="Go on with the directory's latest session.")] = False,
    stdin: Annotated[
        bool | None,
        typer.Option(
            "--stdin/--no-stdin",
            help="Add what is piped in to PROMPT, or leave it alone. By default a file or a pipe is added.",
        ),
    ] = None,
    cwd: Annotated[Path | None, typer.Option(metavar="DIR", help="Work in this directory.")] = None,
    output: Annotated[
        Output,
        typer.Option(help="What stdout gets: the answer, one JSON document, or a JSON line per event."),
    ] = "text",
    output_file: Annotated[
        Path | None,
        typer.Option("--output-file", "-o", metavar="FILE", help="Write the answer to FILE too, whole or not at all."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show only the answer and errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the beginning of each tool's result.")] = False,
    thinking: Annotated[
        Thinking, typer.Option(help="Leave the model's thinking out, tell its time on a terminal, or show it.")
    ] = "fold",
    debug: Annotated[bool, typer.Option("--debug", help="Write a detailed log to stderr, secrets removed.")] = False,
    policy: Annotated[
        PolicyName | None,
        typer.Option(help="Which tools may run: those that only read, those you agree to, or all."),
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(parser=whole_number, metavar="N", help="End the turn after N model requests.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(parser=whole_number, metavar="N", help="Cap each model reply at N tokens.")
    ] = None,
    max_total_tokens: Annotated[
        int | None, typer.Option(parser=whole_number, metavar="N", help="End the turn once N tokens went in and out.")
    ] = None,
    max_cost: Annotated[
        Decimal | None,
        typer.Option(parser=dollars, metavar="USD", help="End the turn once it has cost this many US dollars."),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(parser=seconds, metavar="SECONDS", help="End the turn after this many seconds.")
    ] = None,
    flow: Annotated[
        str | None, typer.Option(metavar="NAME", help="Run the flow that your settings give this name.")
    ] = None,
    swap: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=CLASS", help="Let another class play a role; once for each role to swap."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Go through the pydantic-ai agent at module:name.")
    ] = None,
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

    With --output json, one document: schema (turngraph.turn/1), outcome, exit_code, answer, error {kind, message}
    or null, turn_id, session_id, request_id, flow, model, iterations, usage, cost_usd, duration_ms,
    edited_files, saved, lineup {role: {class, source}}, graph_hash, tool_calls [{name, status, args,
    duration_ms, size, edited_files}], notices. With jsonl, one line an event: schema (turngraph.event/1), type,
    and the event's fields; the last line is turn_ended.

    Exit codes: 0 completed, 1 internal error, 2 usage, 3 provider failure, 4 budget exhausted, 5 refused,
    6 no usable answer, 7 session busy, 130 interrupted or aborted, 143 terminated.
    """
    if session is not None and continue_:
        raise Misuse("--session and --continue each choose a session; give only one of them")
    if quiet and verbose:
        raise Misuse("--quiet shows less and --verbose more; give only one of them")
    options = RunOptions(
        workdir=_directory(cwd),
        max_cost=max_cost,
        timeout=timeout,
        output_file=None if output_file is None else AnswerFile(output_file),
        prompt=read_prompt(prompt, stdin),
        model=model,
        base_url=base_url,
        session=session,
        continue_=continue_,
        output=output,
        quiet=quiet,
        verbose=verbose,
        thinking=thinking,
        debug=debug,
        policy=policy,
        max_iterations=max_iterations,
        max_tokens=max_tokens,
        max_total_tokens=max_total_tokens,
        flow=flow,
        swap=tuple(swap or ()),
        agent=agent,
    )
    from .turn import run_once

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
