"""`turngraph graph`: the graph of a turn or of anybody's pydantic-graph, drawn, checked and compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ...tools.wording import count
from .failures import Misuse

if TYPE_CHECKING:
    from ...graphs.extract import FlowGraph
    from ..target import Target

app = typer.Typer(rich_markup_mode=None, add_completion=False)

Format = Literal["mermaid", "mermaid-state", "dot", "svg", "png", "json", "text", "html"]
_TargetArgument = Annotated[
    str | None,
    typer.Argument(metavar="[TARGET]", help="A flow's name, module:name, or path/to/file.py:name; else the standard."),
]
_Swap = Annotated[
    list[str] | None, typer.Option(metavar="ROLE=CLASS", help="With another class in a role, as in turngraph run.")
]
_Format = Annotated[
    Format | None,
    typer.Option("--format", "-f", help="What to write; by default as --out is named, or what the command says."),
]
_Out = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write to a file, not to stdout.")]
_Overlay = Annotated[
    list[str] | None, typer.Option(metavar="TURN", help="Draw what happened in this turn; more than once for more.")
]
_Session = Annotated[str | None, typer.Option(metavar="ID", help="Draw what happened in a session.")]
_Last = Annotated[int | None, typer.Option(metavar="N", min=1, help="Draw the last N turns, of the session or of all.")]


@app.callback()
def group() -> None:
    """Draw, check and compare the graph of a turn."""


@app.command()
def export(
    target: _TargetArgument = None,
    format: _Format = None,
    out: _Out = None,
    swap: _Swap = None,
    overlay: _Overlay = None,
    session: _Session = None,
    last: _Last = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write nothing: exit 1 if FILE, or its block in Markdown, differs."),
    ] = None,
) -> int:
    """Draw a graph: the standard turn's, a swapped one, or any graph of pydantic-graph.

    The edges are those that the nodes' return annotations declare. A module is imported when it is named here, and
    never from the working directory unless its path is given or PYTHONPATH holds it.

    With --overlay, --session or --last: visits, share of time, median and 95th percentile, tokens, cost and failures
    of each node; how often each edge was taken; what never ran is dashed.

    With --format json: schema (turngraph.graph/1), name, machine, nodes [{id, name, kind, state, doc, source}], edges
    [{from, to, label}], with figures and totals where there are turns. Costs are text, or null without a price.

    With --format html a flow's nodes are played through scripted turns in memory, to show what each writes.
    """
    from .drawing import drifted, emit, format_for

    if check is not None and out is not None:
        raise Misuse("give --check or --out: a file is compared or written")
    found = _find(target, swap)
    graph = _with_runs(found.graph(), overlay or [], session, last)
    wanted = format_for(format, check or out)
    if wanted == "html":
        _observe(found, graph)
    _tell(graph)
    _tell_violations(found)
    if check is not None:
        return int(drifted(graph, wanted, check))
    emit(graph, wanted, out)
    return 0


@app.command()
def check(
    target: _TargetArgument = None,
    swap: _Swap = None,
    output: Annotated[Literal["text", "json"], typer.Option(help="For a person, or one JSON document.")] = "text",
) -> int:
    """Check a graph against the rules; `turngraph graph rules` lists them.

    With --output json: schema (turngraph.graph-check/1), graph, ok, violations [{rule, message, hint, nodes}].

    Exit codes: 0 all rules are kept, 1 one is broken, 2 there is no such graph.
    """
    found = _find(target, swap)
    broken = found.violations()
    if output == "json":
        listed = [{"rule": b.rule, "message": b.message, "hint": b.hint, "nodes": list(b.nodes)} for b in broken]
        document = {"schema": "turngraph.graph-check/1", "graph": found.name, "ok": not broken, "violations": listed}
        typer.echo(json.dumps(document))
    elif broken:
        typer.echo(f"{found.name} breaks {count(len(broken), 'rule')}:")
        for one in broken:
            typer.echo(f"  {one.rule}: {one.message}\n    -> {one.hint}")
    else:
        from ...graphs.extract import inner_nodes

        graph = found.graph()
        typer.echo(f"{found.name} keeps all rules: {len(inner_nodes(graph))} nodes, {graph.number_of_edges()} edges")
    return int(bool(broken))


@app.command()
def rules(
    output: Annotated[Literal["text", "json"], typer.Option(help="For a person, or one JSON document.")] = "text",
) -> None:
    """List the rules, and how to mend what breaks them."""
    from ...graphs.declarations import DECLARED
    from ...graphs.rules import RULES

    listed = [(name, says, hint, True) for name, (says, hint) in DECLARED.items()]
    listed += [(rule.name, rule.says, rule.hint, rule.flows_only) for rule in RULES]
    if output == "json":
        keys = ("name", "says", "hint", "flows_only")
        document = {"schema": "turngraph.graph-rules/1", "rules": [dict(zip(keys, r, strict=True)) for r in listed]}
        typer.echo(json.dumps(document))
        return
    for name, says, hint, flows_only in listed:
        typer.echo(f"{name}{'' if flows_only else '  (any graph)'}\n  {says}.\n  -> {hint}")


@app.command()
def diff(
    before: Annotated[str | None, typer.Argument(metavar="[A]", help="As TARGET of export.")] = None,
    after: Annotated[str | None, typer.Argument(metavar="[B]", help="The same; by default A with --swap.")] = None,
    swap: _Swap = None,
    format: _Format = None,
    out: _Out = None,
    before_turn: Annotated[list[str] | None, typer.Option(metavar="TURN", help="A turn that ran on A.")] = None,
    after_turn: Annotated[list[str] | None, typer.Option(metavar="TURN", help="A turn that ran on B.")] = None,
) -> None:
    """Compare two graphs, or one with and without --swap: nodes and edges that were added, removed or changed.

    Text by default, JSON with --format json, and one drawing of both in any other format. With turns on both sides
    (--before-turn and --after-turn, each as often as wanted) the figures of the nodes are compared too.

    With --format json: schema (turngraph.graph-diff/1), before, after, nodes [{id, before, after}], edges [{from, to,
    change, before, after}], figures {id: {before, after}}.
    """
    from ...graphs.diff import merged
    from .differences import as_json, as_text
    from .drawing import emit, format_for, write

    if after is None and not swap:
        raise Misuse("there is nothing to compare: name two graphs, or --swap a role of one")
    one = _with_runs(_find(before, None).graph(), before_turn or [], None, None)
    two = _with_runs(_find(before if after is None else after, swap).graph(), after_turn or [], None, None)
    for graph in (one, two):
        _tell(graph)
    wanted = "text" if format is None and out is None else format_for(format, out)
    if wanted in ("text", "json"):
        text = as_text(one, two) if wanted == "text" else as_json(one, two)
        if out is None:
            typer.echo(text)
        else:
            write(out, f"{text}\n".encode())
    else:
        emit(merged(one, two), wanted, out)


def _find(target: str | None, swap: list[str] | None) -> Target:
    """The target; settings are read only for a name that they may hold, so that broken ones hinder nothing else."""
    from ..flow import STANDARD
    from ..loading import is_place
    from ..settings import load_settings
    from ..target import find_target

    if target is None or target == STANDARD.name or is_place(target):
        return find_target(target, swap or [], {})
    return find_target(target, swap or [], {name: one.swap for name, one in load_settings().flows.items()})


def _with_runs(graph: FlowGraph, turns: list[str], session: str | None, last: int | None) -> FlowGraph:
    """The graph with what happened on it, where that was asked for."""
    if not turns and session is None and last is None:
        return graph
    if turns and (session is not None or last is not None):
        raise Misuse("give --overlay TURN, or --session and --last: they choose the turns to draw")
    from ...graphs.overlay import overlay
    from ..runs import choose_turns, read_runs
    from ..settings import load_settings
    from ..store import Store

    with Store.open(load_settings().store) as store:
        runs, notes = read_runs(store, choose_turns(store, turns, session, last))
    drawn = overlay(graph, runs)
    drawn.graph["notes"] = (*drawn.graph["notes"], *notes)
    return drawn


def _observe(found: Target, graph: FlowGraph) -> None:
    """Put on each node the fields of the state that it was seen to write."""
    from ..flow import Flow
    from ..observed import observed_writes

    if not isinstance(found.found, Flow):
        return
    try:
        writes = observed_writes(found.found)
    except Exception as error:  # of a node that somebody wrote: the page can do without
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        graph.graph["notes"] = (*graph.graph.get("notes", ()), f"what the nodes write is not shown ({said})")
        return
    for role, fields in writes.items():
        graph.nodes[role]["writes"] = fields


def _tell(graph: FlowGraph) -> None:
    from .drawing import remark

    for note in graph.graph.get("notes", ()):
        remark(note)


def _tell_violations(found: Target) -> None:
    from .drawing import remark

    if broken := found.violations():
        names = ", ".join(dict.fromkeys(one.rule for one in broken))
        said = f"{found.name} breaks {count(len(broken), 'rule')}, {names}"
        remark(f"{said}: turngraph graph check says how to mend that")
