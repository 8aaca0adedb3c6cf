"""`turngraph graph`: the turn, drawn."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

app = typer.Typer(help="Look at the graph of a turn.", rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Look at the graph of a turn."""


@app.command()
def export(
    format: Annotated[
        Literal["mermaid", "text"], typer.Option(help="Mermaid source, or lines for a terminal.")
    ] = "mermaid",
) -> None:
    """Print the standard turn's graph, read from its nodes' return annotations."""
    from ...graphs.export import render
    from ...graphs.extract import extract
    from ..flow import STANDARD

    typer.echo(render(extract(STANDARD), format).rstrip("\n"))
