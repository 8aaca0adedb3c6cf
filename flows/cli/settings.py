"""`turngraph settings`: what is configured, and where each value comes from."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .numbers import dollars, seconds, whole_number
from .terminal import visible

if TYPE_CHECKING:
    from ..settings import Layer, Resolved, Setting

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EPILOG = """\b
Examples:
  turngraph settings show
  turngraph settings show --policy auto --output json | jq .settings.policy
"""


@app.callback()
def group() -> None:
    """Look at the settings in force."""


@app.command(epilog=EPILOG)
def show(
    cwd: Annotated[Path | None, typer.Option(metavar="DIR", help="As a turn in this directory would see them.")] = None,
    model: Annotated[str | None, typer.Option(help="As with this flag of run.")] = None,
    base_url: Annotated[str | None, typer.Option(help="As with this flag of run.")] = None,
    policy: Annotated[
        Literal["read-only", "ask", "auto"] | None, typer.Option(help="As with this flag of run.")
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(parser=whole_number, metavar="N", help="As with this flag of run.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(parser=whole_number, metavar="N", help="As with this flag of run.")
    ] = None,
    max_total_tokens: Annotated[
        int | None, typer.Option(parser=whole_number, metavar="N", help="As with this flag of run.")
    ] = None,
    max_cost: Annotated[
        Decimal | None, typer.Option(parser=dollars, metavar="USD", help="As with this flag of run.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(parser=seconds, metavar="SECONDS", help="As with this flag of run.")
    ] = None,
    context_window: Annotated[
        int | None, typer.Option(parser=whole_number, metavar="N", help="As with this flag of run.")
    ] = None,
    flow: Annotated[str | None, typer.Option(metavar="NAME", help="As with this flag of run.")] = None,
    output: Annotated[Literal["text", "json"], typer.Option(help="A table, or one JSON document.")] = "text",
) -> None:
    """Show each setting, its value and where it comes from.

    Values come from, each winning over the ones before: what is built in, your turngraph.toml, the variables
    TURNGRAPH_MODEL and so on, the flags. A turngraph.toml in the working directory or at the root of its git
    repository may tighten policy and the limits (max_..., timeout) against all but flags, and set nothing else.

    With --output json: schema (turngraph.settings/1), settings {name: {value, kind, where, held_back}}, files
    [{kind, path, exists}]. kind is default, file, project, variable or flag; held_back is null, or the value,
    kind and where that a project's file replaced.
    """
    from ..settings import resolve_settings

    flags: dict[str, object] = {
        "model": model,
        "base_url": base_url,
        "policy": policy,
        "max_iterations": max_iterations,
        "max_tokens": max_tokens,
        "max_total_tokens": max_total_tokens,
        "max_cost": max_cost,
        "timeout": timeout,
        "context_window": context_window,
        "flow": flow,
    }
    resolved = resolve_settings(flags, os.environ, cwd or Path.cwd())
    typer.echo(json.dumps(_document(resolved)) if output == "json" else _table(resolved))


def _table(resolved: Resolved) -> str:
    rows = [(one.key, visible(one.shown), visible(_origin(one))) for one in resolved.each.values()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    table = [f"{key:{widths[0]}}  {value:{widths[1]}}  {origin}" for key, value, origin in rows]
    return "\n".join([*table, "", *map(_file, resolved.files)])


def _origin(setting: Setting) -> str:
    words = {"default": "built in", "project": f"{setting.origin.where}, a project's file"}
    text = words.get(setting.origin.kind, setting.origin.where)
    if setting.held_back is None:
        return text
    from ..settings.resolve import shown

    value, origin = setting.held_back
    return f"{text}, holds back {shown(setting.key, value)} of {origin.where}"


def _file(layer: Layer) -> str:
    whose = "your file" if layer.kind == "file" else "a project's file"
    return f"{whose}: {visible(str(layer.path))}{'' if layer.exists else ' (there is none)'}"


def _document(resolved: Resolved) -> dict[str, Any]:
    from ..settings.resolve import shown

    def value(key: str, given: Any) -> Any:
        return given if given is None or isinstance(given, int | float) else shown(key, given)

    return {
        "schema": "turngraph.settings/1",
        "settings": {
            one.key: {
                "value": value(one.key, one.value),
                "kind": one.origin.kind,
                "where": one.origin.where,
                "held_back": None
                if one.held_back is None
                else {
                    "value": value(one.key, one.held_back[0]),
                    "kind": one.held_back[1].kind,
                    "where": one.held_back[1].where,
                },
            }
            for one in resolved.each.values()
        },
        "files": [{"kind": layer.kind, "path": str(layer.path), "exists": layer.exists} for layer in resolved.files],
    }
