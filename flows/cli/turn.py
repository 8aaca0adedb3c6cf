"""`turngraph turn`: what a turn did, and what else can be made of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .failures import Misuse
from .numbers import whole_number
from .options import Chosen, FlowOption, Shown, SwapOption, with_turn_options
from .prompt import read_prompt

if TYPE_CHECKING:
    from ..store import Store

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_Format = Annotated[Literal["text", "json"], typer.Option("--output", help="For a person, or one JSON document.")]
_TurnArgument = Annotated[str | None, typer.Argument(metavar="ID", help="The turn; the first digits of its id do.")]
_LastOption = Annotated[bool, typer.Option("--last", help="The newest turn, of any directory.")]
_NEWEST = 20

LIST_EPILOG = """\b
Examples:
  turngraph turn list
  turngraph turn list --session 8dc1 --output json | jq -r '.turns[].id'
"""
SHOW_EPILOG = """\b
Examples:
  turngraph turn show 3f2a91
  turngraph turn show --last --output json | jq '.visits[] | select(.error)'
"""
RESUME_EPILOG = """\b
Examples:
  turngraph turn resume
  turngraph turn resume 3f2a91 --policy auto --output json
"""
REPLAY_EPILOG = """\b
Examples:
  turngraph turn replay --last
  turngraph turn replay 3f2a91 --swap dispatch=./mine.py:Dispatch
"""
FORK_EPILOG = """\b
Examples:
  turngraph turn fork 3f2a91 --at 6 --model openai:gpt-5
  turngraph turn fork 3f2a91 --at 0 --edit-prompt "only look, change nothing"
  turngraph turn fork 3f2a91 --at 2 --swap dispatch=./mine.py:Dispatch
"""


@app.callback()
def group() -> None:
    """Look into a turn, go on with one that was cut off, or try it again differently."""


@app.command("list", epilog=LIST_EPILOG)
def list_turns(
    session: Annotated[str | None, typer.Option(metavar="ID", help="Only the turns of this session.")] = None,
    last: Annotated[
        int | None,
        typer.Option(parser=whole_number, metavar="N", help=f"Only the newest N; without a session {_NEWEST}."),
    ] = None,
    output: _Format = "text",
) -> None:
    """List turns, the newest first.

    Each with how it ended, or whether it runs or was cut off.

    With --output json: schema (turngraph.turns/1), turns [{id, session, begun, state, outcome, pid, visits,
    iterations, cost_usd, model, flow, prompt, forked_from}]. state is ended, running, stopped, elsewhere or cut off;
    outcome, iterations and cost_usd are null of a turn that has not ended.
    """
    from ..summaries import summarise

    with _open_store() as store:
        if session is None:
            wanted = last or _NEWEST
            newest = store.latest_turns(wanted + 1)
            more = len(newest) > wanted
        else:
            newest = store.turns(store.find_session(session))
            wanted = last or max(len(newest), 1)
            more = False
        found = [summarise(store, turn) for turn in reversed(newest[-wanted:])]
    if output == "json":
        from .turn_json import as_json

        typer.echo(json.dumps({"schema": "turngraph.turns/1", "turns": [as_json(one) for one in found]}))
    elif not found:
        typer.echo("there are no turns yet; turngraph run begins one", err=True)
    else:
        from .turn_text import print_turns

        print_turns(found, sys.stdout)
        if more and last is None:
            typer.echo(f"only the newest {wanted} are listed; --last N lists more", err=True)


@app.command(epilog=SHOW_EPILOG)
def show(
    turn: _TurnArgument = None,
    last: _LastOption = False,
    output: _Format = "text",
) -> None:
    """Show the journal of a turn, visit by visit.

    Each visit with where it went on to, and what happened in it. The numbers are those that `turngraph turn fork
    --at N` takes. `unknown` is a call that began and whose end nobody saw: its effects may have happened.

    With --output json: schema (turngraph.journal/1), turn (as in turn list, and workdir, policy, lineup, limits and
    asked), visits [{n, role, to, iteration, ms, error, changed, events}]. n is null for what was written after the
    last visit. events are {kind} and what belongs to it: reply, result, unknown, repair, prune, compact, seal, tree,
    external, resume, guidance, damaged.
    """
    _need_one(turn, last)
    from ..runs import named_turn
    from ..summaries import summary_of
    from ..told import tell

    with _open_store() as store:
        turn_id = named_turn(store, turn)
        journal, body = store.journal(turn_id), store.turn_body(turn_id)
    summary, steps = summary_of(turn_id, journal), tell(journal)
    if output == "json":
        from .turn_json import journal_json

        typer.echo(json.dumps(journal_json(summary, body, steps)))
    else:
        from .turn_text import print_journal

        print_journal(summary, body, steps, sys.stdout)


@app.command(epilog=RESUME_EPILOG)
@with_turn_options
def resume(
    *,
    turn: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="The turn; by default the one of this directory that was cut off."),
    ] = None,
    last: Annotated[
        bool, typer.Option("--last", help="The last of several turns of this directory that were cut off.")
    ] = False,
    accept_graph_change: Annotated[
        bool, typer.Option("--accept-graph-change", help="Go on although the graph is another since it began.")
    ] = False,
    chosen: Chosen,
    how: Shown,
) -> int:
    """Go on with a turn that was cut off.

    It goes on from its last boundary between two nodes. No model request and no call that came to its end is made
    again. A call that was under way is made again if it only reads; of any other the model and you are told that its
    outcome is unknown, and it is not made again.

    The model, the server, the policy, the flow, the limits and the directory are those of the turn's record, unless
    told otherwise here; a --swap wins over one of the record. What it shows, its JSON and its exit codes are those of
    `turngraph run`; 2 is also a turn that has ended, or whose graph has changed since, 7 one that still runs.
    """
    if turn is not None and last:
        raise Misuse("an ID and --last each choose a turn; give only one of them")
    from .beginning import resume_once

    return resume_once(turn, chosen, how, last=last, accept_graph_change=accept_graph_change)


@app.command(epilog=REPLAY_EPILOG)
def replay(
    turn: _TurnArgument = None,
    last: _LastOption = False,
    flow: FlowOption = None,
    swap: SwapOption = None,
    output: _Format = "text",
) -> int:
    """Run a recorded turn again, offline.

    Each visit is compared with the record. What the model and the tools gave comes from the journal: nothing is
    asked, run or written. The flow is the recorded one, unless told otherwise: with --swap it shows where a variant
    departs.

    With --output json: schema (turngraph.replay/1), turn_id, visits (as recorded), recorded (of how many), departure,
    null or {visit, role, what, recorded, replayed}. what is request, calls, writes, state or transition.

    Exit codes: 0 all visits were as recorded, 1 one departed from the record, 2 there is no such turn or flow.
    """
    _need_one(turn, last)
    from .replaying import replay_once

    return replay_once(turn, Chosen(flow=flow, swap=swap), output)


@app.command(epilog=FORK_EPILOG)
@with_turn_options
def fork(
    *,
    turn: _TurnArgument = None,
    last: _LastOption = False,
    at: Annotated[
        int,
        typer.Option("--at", min=0, metavar="N", help="The visit after which it begins; 0 is the beginning."),
    ],
    edit_prompt: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Another prompt, where the turn's own was not answered yet; - reads stdin."),
    ] = None,
    worktree: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Put the files as they were there; by default beside the store.")
    ] = None,
    here: Annotated[
        bool, typer.Option("--here", help="Work in the turn's own directory, on the files as they are now.")
    ] = False,
    chosen: Chosen,
    how: Shown,
) -> int:
    """Try a turn differently, from one of its visits on.

    A new turn, in a session of its own, begins from exactly the state that the turn had after visit N, as
    `turngraph turn show` numbers them. What came before is shared and not run again; the turn itself stays as it is.

    In a git repository the fork works in a worktree of its own, with the files as they were then: the directory that
    the turn worked in is not touched. Where the files were not recorded, a fork that may change some needs --here.

    The model, the server, the policy, the flow and the limits are those of the turn's record, unless told otherwise
    here; a --swap wins over one of the record. What it shows, its JSON and its exit codes are those of `turngraph
    run`.
    """
    _need_one(turn, last)
    if here and worktree is not None:
        raise Misuse("--here works on the files of now and --worktree on those of then; give only one of them")
    prompt = None if edit_prompt is None else read_prompt(edit_prompt, None if edit_prompt == "-" else False)
    from .forking import ForkOptions, fork_once

    return fork_once(
        ForkOptions(turn=turn, at=at, prompt=prompt, worktree=worktree, here=here, chosen=chosen, shown=how)
    )


def _open_store() -> Store:
    from ..settings import load_settings
    from ..store import Store

    return Store.open(load_settings().store)


def _need_one(turn: str | None, last: bool) -> None:
    if (turn is None) is not last:
        raise Misuse("name one turn: give its ID, or --last")
