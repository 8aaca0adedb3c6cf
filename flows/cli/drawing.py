"""Where a drawing goes: stdout, a file, or a comparison with a file that was drawn before."""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .failures import Misuse
from .terminal import encodable, visible, width_of

if TYPE_CHECKING:
    from ...graphs.extract import FlowGraph

SUFFIXES = {
    ".mmd": "mermaid",
    ".dot": "dot",
    ".gv": "dot",
    ".svg": "svg",
    ".png": "png",
    ".json": "json",
    ".txt": "text",
    ".html": "html",
}
"""The format that a file's name asks for."""

_FENCED = {"mermaid": "mermaid", "mermaid-state": "mermaid", "dot": "dot", "json": "json", "text": "text"}
_FENCE = r"^(?P<fence>`{{3,}}|~{{3,}}) *{language}\b[^\n]*\n(?P<text>.*?)^(?P=fence)[`~]* *$"


def remark(text: str) -> None:
    """Say something beside the output, on stderr."""
    print(f"turngraph: {visible(text)}", file=sys.stderr)


def format_for(format: str | None, file: Path | None) -> str:
    """The format that was asked for, by name or by a file's name; Mermaid by default."""
    if format is not None:
        return format
    if file is None or file.suffix.lower() in (".md", ".markdown"):
        return "mermaid"
    if file.suffix.lower() not in SUFFIXES:
        raise Misuse(f"the name of {file} tells no format; give --format, or a name that ends in {', '.join(SUFFIXES)}")
    return SUFFIXES[file.suffix.lower()]


def write(out: Path, data: bytes) -> None:
    try:
        out.write_bytes(data)
    except OSError as error:
        raise Misuse(f"{out} cannot be written: {error.strerror}") from error


def emit(graph: FlowGraph, format: str, out: Path | None) -> None:
    """Write a drawing to a file or to stdout."""
    from ...graphs.export import WIDTH, render, render_bytes, render_text

    if out is not None:
        write(out, render_bytes(graph, format))
    elif format == "png":
        if sys.stdout.isatty():
            raise Misuse("a PNG is nothing for a terminal; give --out FILE, or send it to a file or a pipe")
        sys.stdout.buffer.write(render_bytes(graph, format))
    elif format == "text":
        width = width_of(sys.stdout) or WIDTH
        text, reason = render_text(graph, width, ascii_only=not encodable("│▼╭", sys.stdout))
        if reason is not None:
            remark(f"lines instead of boxes: {reason}")
        typer.echo(text.rstrip("\n"))
    else:
        typer.echo(render(graph, format).rstrip("\n"))


def drifted(graph: FlowGraph, format: str, file: Path) -> bool:
    """Whether a file, or the block of this format in a Markdown file, differs from the drawing; the diff is printed.

    Where a Markdown file holds several such blocks, one of them must be the drawing.
    """
    from ...graphs.export import render, render_bytes

    try:
        held = file.read_bytes()
    except OSError as error:
        raise Misuse(f"{file} cannot be read: {error.strerror}") from error
    if format == "png":
        if held == render_bytes(graph, format):
            return False
        remark(f"{file} is not the picture that would be drawn now; draw it anew with --out {file}")
        return True
    wanted = render(graph, format)
    text = held.decode(errors="replace").replace("\r\n", "\n")
    blocks = _blocks(text, format) if file.suffix.lower() in (".md", ".markdown") else [text]
    if not blocks:
        raise Misuse(f"{file} holds no block ```{_FENCED.get(format, format)} to compare with")
    if wanted in blocks:
        return False
    nearest = max(blocks, key=lambda block: difflib.SequenceMatcher(None, block, wanted).quick_ratio())
    lines = difflib.unified_diff(
        nearest.splitlines(), wanted.splitlines(), str(file), f"graph export --format {format}", lineterm=""
    )
    typer.echo("\n".join(map(visible, lines)))
    remark(f"{file} is not what the graph is now; put in what graph export --format {format} prints")
    return True


def _blocks(text: str, format: str) -> list[str]:
    language = _FENCED.get(format, format)
    pattern = re.compile(_FENCE.format(language=re.escape(language)), re.MULTILINE | re.DOTALL)
    return [found["text"] for found in pattern.finditer(text)]
