"""`turngraph session`: what is kept of earlier conversations."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .failures import Misuse

if TYPE_CHECKING:
    from ...nodes.events import Sink
    from ..store import SessionSummary, Store

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.callback()
def group() -> None:
    """Look at earlier conversations."""


@app.command("list")
def list_sessions(
    output: Annotated[Literal["text", "json"], typer.Option(help="A table, or one JSON document.")] = "text",
) -> None:
    """List all sessions, the one used last first."""
    with _open_store() as store:
        found = store.sessions()
    if output == "json":
        document = {"schema": "turngraph.sessions/1", "sessions": [_as_json(summary) for summary in found]}
        typer.echo(json.dumps(document))
    elif not found:
        typer.echo("there are no sessions yet; turngraph run begins one", err=True)
    else:
        from .table import print_sessions

        print_sessions(found, sys.stdout)


@app.command()
def show(
    session: Annotated[
        str | None, typer.Argument(metavar="ID", help="The session; the first digits of its id do.")
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="The session used last, of any directory.")] = False,
    output: Annotated[
        Literal["text", "jsonl"], typer.Option(help="As it was shown, or a JSON line per event.")
    ] = "text",
) -> None:
    """Show a conversation again, as it was shown, all of it on stdout."""
    if (session is None) is not last:
        raise Misuse("name one session: give its ID, or --last")
    import anyio

    from ..retell import retell
    from ..sinks import JsonlSink
    from .console import ConsoleSink

    with _open_store() as store:
        found = _latest(store) if session is None else store.find_session(session)
        console = ConsoleSink(sys.stdout, sys.stdout, prompts=True)
        sink: Sink = JsonlSink(sys.stdout) if output == "jsonl" else console

        async def play() -> None:
            for event in retell(store, found):
                await sink.emit(event)
            console.finish()

        anyio.run(play)


def _open_store() -> Store:
    from ..settings import load_settings
    from ..store import Store

    return Store.open(load_settings().store)


def _latest(store: Store) -> str:
    found = store.sessions()
    if not found:
        raise Misuse("there are no sessions yet; turngraph run begins one")
    return found[0].id


def _as_json(summary: SessionSummary) -> dict[str, Any]:
    return {
        "id": summary.id,
        "workdir": summary.workdir,
        "started_at": summary.started_at.isoformat(),
        "last_used_at": summary.last_used_at.isoformat(),
        "turns": summary.turns,
        "first_prompt": summary.first_prompt,
        "last_outcome": None if summary.last_outcome is None else summary.last_outcome.value,
    }
