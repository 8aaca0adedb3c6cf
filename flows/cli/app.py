"""The `turngraph` command itself: its help, its version, and what its errors come to."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from .commands import SUMMARIES, Commands
from .failures import report

_HELP = """A coding agent whose turn is a declarative graph.

Ask in words; the model looks around, edits and runs commands with your consent, and answers. With no model
configured a router answers simple questions by rules, and says so.
"""

_EPILOG = """\b
Examples, the three jobs:
  turngraph run "where is the retry limit set?"            ask
  turngraph run --continue "raise it to 5, run the tests"  change, asked before anything runs
  git diff | turngraph run "review this" -o review.md      in a script
"""

# A flag of a group that has no value makes typer load pydantic, and a word of help takes twice the time.
_NO_FLAGS = {"install_completion": False, "show_completion": False, "help": False}
_NO_FLAGS_OF_COMMANDS = {name: {"help": False} for name in SUMMARIES}

app = typer.Typer(
    name="turngraph",
    cls=Commands,
    help=_HELP,
    epilog=_EPILOG,
    context_settings={"default_map": _NO_FLAGS | _NO_FLAGS_OF_COMMANDS},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        package = import_module(__name__.partition(".")[0])
        typer.echo(f"turngraph {package.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help(), err=True)
        raise typer.Exit(2)


def invoke(args: Sequence[str]) -> int:
    """Run a command line and return its exit code; an error has been reported, in one sentence, by then."""
    try:
        code = app(list(args), prog_name="turngraph", standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # a node or a class of the user's may raise anything
        return report(error, args)
    return code or 0
