"""`turngraph nodes`: who can play which role, and a new one to begin with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from .terminal import visible

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_Output = Annotated[Literal["text", "json"], typer.Option(help="For a person, or one JSON document.")]


@app.callback()
def group() -> None:
    """Look at the roles of a turn and who can play them."""


@app.command("list")
def list_(output: _Output = "text") -> None:
    """List the roles, the variants that come along, and those that installed packages offer.

    With --output json: schema (turngraph.nodes/1), roles [{role, class, state, to}], variants [{name, role,
    argument, trade}], offered [{name, package, value}]. Of what packages offer nothing is imported, so the roles are
    not known.
    """
    from ..roster import roster

    found = roster()
    if output == "json":
        typer.echo(json.dumps({"schema": "turngraph.nodes/1", **found}))
        return
    lines = ["Roles of a turn:"]
    lines += _table([(one["role"], one["class"], f"-> {', '.join(one['to'])}") for one in found["roles"]])
    lines += ["", "Variants (turngraph run --swap ROLE=NAME):"]
    lines += _table([(f"{one['role']}={one['name']}{one['argument']}", one["trade"]) for one in found["variants"]])
    lines += ["", f"Offered by installed packages: {len(found['offered']) or 'none'}"]
    lines += _table([(one["name"], f"{one['package']} ({one['value']})") for one in found["offered"]])
    typer.echo("\n".join(map(visible, lines)))


@app.command()
def show(
    role: Annotated[str, typer.Argument(metavar="ROLE[=CLASS]", help="A role, or a swap as in turngraph run.")],
    output: _Output = "text",
) -> None:
    """Show who plays a role: what it does, where it goes on to, where it is written, and what it was seen to write.

    What it writes is found by playing it in scripted turns, with no model and no tools of yours.

    With --output json: schema (turngraph.node/1), role, class, source {file, line}, state, doc, edges [{to, label}],
    writes.
    """
    from ..roster import describe

    found = describe(role)
    if output == "json":
        typer.echo(json.dumps({"schema": "turngraph.node/1", **found}))
        return
    source = found["source"]
    lines = [
        f"{found['role']}: {found['class']}",
        f"  {source['file']}:{source['line']}" if source else "  (no source file)",
        "",
        *(f"  {line}".rstrip() for line in found["doc"].splitlines()),
        "",
        f"  runs in the state {found['state']} and goes on to",
        *(f"    {one['to']}{': ' + one['label'] if one['label'] else ''}" for one in found["edges"]),
        f"  was seen to write {', '.join(found['writes']) or 'nothing'}",
    ]
    typer.echo("\n".join(map(visible, lines)))


@app.command()
def new(
    role: Annotated[str, typer.Argument(metavar="ROLE", help="The role it plays.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the class, such as CalmExecute.")],
    folder: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where to write the two files.")] = Path(),
) -> None:
    """Write a new variant that does what the role's own class does, and its test; what is there stays.

    The test inherits the contract of every node from turngraph.testing; run it with pytest.
    """
    from ..flow import STANDARD
    from ..skeleton import skeleton
    from .failures import Misuse

    made = skeleton(STANDARD, role, name)
    files = {folder / made.node_file: made.node, folder / made.test_file: made.test}
    if there := [str(path) for path in files if path.exists()]:
        raise Misuse(f"{' and '.join(there)} exists already; take another name or --dir")
    for path, text in files.items():
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise Misuse(f"{path} cannot be written: {error.strerror}") from None
    node, test = files
    place = node if node.is_absolute() else f"./{node}"
    typer.echo(f"{node}\n{test}")
    typer.echo(f"next: pytest {test}; turngraph run 'find \"TODO\"' --swap {role}={place}:{name}", err=True)


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows with their columns under each other, the last one free."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1] if rows else []
    return [
        "  " + "  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    ]
