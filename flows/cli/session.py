"""`turngraph session`: what is kept of earlier conversations."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .answer_file import AnswerFile
from .failures import Misuse

if TYPE_CHECKING:
    from ...nodes.events import Notice, Sink
    from ..store import Store

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_SessionArgument = Annotated[str, typer.Argument(metavar="ID", help="The session; the first digits of its id do.")]

LIST_EPILOG = """\b
Examples:
  turngraph session list
  turngraph session list --output json | jq -r '.sessions[] | select(.workdir == env.PWD).id'
"""
SHOW_EPILOG = """\b
Examples:
  turngraph session show --last
  turngraph session show 8dc1 --output jsonl | jq -r 'select(.type == "tool_finished").name'
"""
EXPORT_EPILOG = """\b
Examples:
  turngraph session export 8dc1 --format markdown -o talk.md
  turngraph session export 8dc1 | jq '.messages | length'
  turngraph session export 8dc1 --format bundle | ssh elsewhere turngraph session import -
"""
DELETE_EPILOG = """\b
Examples:
  turngraph session delete 8dc1
  turngraph session delete 8dc1 3f2a --yes
"""
FORK_EPILOG = """\b
Examples:
  turngraph session fork 8dc1
  turngraph run --session $(turngraph session fork 8dc1 --at 3f2a91) "try it with threads instead"
"""
BRANCH_EPILOG = """\b
Examples:
  turngraph session branch 8dc1 --at 3f2a91
"""
ADD_EPILOG = """\b
Examples:
  turngraph session add 8dc1 "the build on the server failed"
  git diff | turngraph session add 8dc1 -
"""


@app.callback()
def group() -> None:
    """Look at earlier conversations, and keep, copy or delete them."""


@app.command("list", epilog=LIST_EPILOG)
def list_sessions(
    output: Annotated[Literal["text", "json"], typer.Option(help="A table, or one JSON document.")] = "text",
) -> None:
    """List all sessions, the one used last first.

    With --output json: schema (turngraph.sessions/1), sessions [{id, workdir, started_at, last_used_at, turns,
    first_prompt, last_outcome, tokens, forked_from}]. tokens is the size of the context: what went in and out with
    the last reply; null before the first. last_outcome is null where the last turn runs or was cut off.
    """
    with open_store() as store:
        found = store.sessions()
    if output == "json":
        from ..export import summary_json

        document = {"schema": "turngraph.sessions/1", "sessions": [summary_json(summary) for summary in found]}
        typer.echo(json.dumps(document))
    elif not found:
        typer.echo("there are no sessions yet; turngraph run begins one", err=True)
    else:
        from .table import print_sessions

        print_sessions(found, sys.stdout)


@app.command(epilog=SHOW_EPILOG)
def show(
    session: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The session; the first digits of its id do.")
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="The session used last, of any directory.")] = False,
    output: Annotated[
        Literal["text", "jsonl"], typer.Option(help="As it was shown, or a JSON line per event.")
    ] = "text",
) -> None:
    """Show a conversation again, as it was shown, all of it on stdout."""
    if (session is None) is not last:
        raise Misuse("name one session: give its ID, or --last")
    from itertools import chain

    import anyio

    from ..retell import retell
    from ..sinks import JsonlSink
    from .console import ConsoleSink

    with open_store() as store:
        found = _latest(store) if session is None else store.find_session(session)
        console = ConsoleSink(sys.stdout, sys.stdout, prompts=True)
        sink: Sink = JsonlSink(sys.stdout) if output == "jsonl" else console

        before, after = _notices(store, found)

        async def play() -> None:
            for event in chain(before, retell(store, found), after):
                await sink.emit(event)
            console.finish()

        anyio.run(play)


@app.command(epilog=EXPORT_EPILOG)
def export(
    session: _SessionArgument,
    form: Annotated[
        Literal["json", "markdown", "bundle"],
        typer.Option("--format", help="The messages, a text to read, or all that is stored, for session import."),
    ] = "json",
    output_file: Annotated[
        Path | None,
        typer.Option("--output-file", "-o", metavar="FILE", help="Write to FILE, whole or not at all, for you alone."),
    ] = None,
) -> int:
    """Write a session to stdout, or to a file.

    Secret values of the environment are replaced in every format by [redacted NAME], and counted on stderr, as is what
    could not be read or had to be mended.

    json: schema (turngraph.session/1), session (as in session list), messages (the history as the next turn's model
    would see it, for pydantic-ai's ModelMessagesTypeAdapter), skipped, repairs, redacted. markdown: the same history
    to read, long results of tools cut. bundle: every row of the session's log, journals and abandoned branches too,
    and what it shares with those it was forked from; snapshots of the workspace's files are not in it.
    """
    file = None if output_file is None else AnswerFile(output_file)
    from .exporting import export_once

    return export_once(session, form, file)


@app.command("import")
def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What session export --format bundle wrote; - is stdin.")
    ],
) -> int:
    """Take in a bundle and print the id of its session.

    The journals of its turns come with it. It keeps its id, unless a session has that already. Damaged lines are left
    out and counted on stderr. Which policy, model and swaps its turns had is not taken over: to resume one that was cut
    off, say how it may run.
    """
    from .exporting import import_once

    return import_once(file)


@app.command(epilog=DELETE_EPILOG)
def delete(
    sessions: Annotated[list[str], typer.Argument(metavar="ID...", help="The sessions; the first digits do.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; needed where there is no terminal.")] = False,
) -> int:
    """Delete sessions with all their turns, for good.

    What they said is overwritten. A session is kept while a turn of it runs, or while another that was forked from it
    is not deleted too. Snapshots of the workspace's files, which lie beside the store, are not deleted.

    Exit codes: 0 all are deleted, 1 others are forked from one, 2 there is no such session, 5 you said no, 7 one is in
    use.
    """
    from .deleting import delete_once

    return delete_once(sessions, yes=yes)


@app.command(epilog=FORK_EPILOG)
def fork(
    session: _SessionArgument,
    at: Annotated[
        str | None, typer.Option(metavar="TURN", help="Only the history up to the end of this turn; its first digits.")
    ] = None,
) -> None:
    """Begin a session with the history of another, and print its id.

    The history is shared, not copied: the other goes on as it was, and cannot be deleted before its forks.
    """
    with open_store() as store:
        found = store.find_session(session)
        after = store.branch_point(found, None if at is None else store.find_turn(at))
        workdir = next(one.workdir for one in store.sessions() if one.id == found)
        typer.echo(store.create_session(workdir, after=after))


@app.command(epilog=BRANCH_EPILOG)
def branch(
    session: _SessionArgument,
    at: Annotated[str, typer.Option(metavar="TURN", help="The turn to go on after; the first digits of its id do.")],
) -> None:
    """Let a session go on from the end of an earlier turn.

    What came after that turn is no longer part of the history that the model sees. It stays in the store, and
    `turngraph session branch` with a later turn goes back to it.
    """
    with open_store() as store:
        found, turn = store.find_session(session), store.find_turn(at)
        before = store.history_turns(found)
        store.branch(found, store.branch_point(found, turn))
        now = set(store.history_turns(found))
        left = [one for one in before if one not in now]
    from ...tools.wording import count

    typer.echo(f"session {found} goes on after turn {turn}", err=True)
    if left:
        way_back = f"turngraph session branch {found} --at {left[-1]}"
        typer.echo(f"{count(len(left), 'turn')} left behind, none deleted; {way_back} goes back", err=True)


@app.command(epilog=ADD_EPILOG)
def add(
    session: _SessionArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say; - reads it from stdin.")],
) -> None:
    """Put a message into a session from outside.

    The model reads it with the next prompt. While a turn of the session runs it comes after all that this turn says.
    """
    from datetime import UTC, datetime

    from ...nodes.said import prompt_message
    from .stdin import Piped, read_to_the_end

    said = read_to_the_end() if text == "-" else Piped(text)
    if not said.text.strip():
        raise Misuse("the message is empty; give its text, or - and pipe it in")
    for warning in said.warnings:
        typer.echo(f"turngraph: {warning}", err=True)
    with open_store() as store:
        found = store.find_session(session)
        store.add_messages(found, [prompt_message(said.text, datetime.now(UTC).astimezone())])


def _notices(store: Store, session: str) -> tuple[list[Notice], list[Notice]]:
    """What to say before and after a session's own turns: those it shares, and those that no longer count."""
    from ...nodes.events import Notice
    from ...tools.wording import count

    own, history = store.turns(session), store.history_turns(session)
    shared = [turn for turn in history if turn not in own]
    left = [turn[:8] for turn in own if turn not in (*history, store.unfinished_turn(session))]
    before = f"{count(len(shared), 'turn')} of the session that this one was forked from come before"
    after = f"no longer part of the history, which branched off before: {', '.join(left)}"
    return [Notice("info", before)] if shared else [], [Notice("info", after)] if left else []


def open_store() -> Store:
    """The store that the settings name."""
    from ..settings import load_settings
    from ..store import Store

    return Store.open(load_settings().store)


def _latest(store: Store) -> str:
    found = store.sessions()
    if not found:
        raise Misuse("there are no sessions yet; turngraph run begins one")
    return found[0].id
