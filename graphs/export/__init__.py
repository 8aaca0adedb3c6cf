"""A graph in one of the formats; every one is the same to the byte for the same graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..extract import FlowGraph
from .boxes import NoBoxes, boxes
from .document import as_json
from .dot import dot
from .lines import lines
from .mermaid import mermaid
from .mermaid_state import mermaid_state
from .page import page
from .picture import png, svg

WIDTH = 100
"""Columns of boxes where nobody says how wide the terminal is."""

_TEXTS: Mapping[str, Callable[[FlowGraph], str]] = {
    "mermaid": mermaid,
    "mermaid-state": mermaid_state,
    "dot": dot,
    "svg": svg,
    "json": as_json,
    "html": page,
}
FORMATS: tuple[str, ...] = ("mermaid", "mermaid-state", "dot", "svg", "png", "json", "text", "html")


def render(graph: FlowGraph, format: str) -> str:
    """The graph in a format of `FORMATS` other than `png`, ending in a newline.

    Raises:
        KeyError: there is no such format.
        UsageError: a picture cannot be drawn.
    """
    if format == "text":
        return render_text(graph, WIDTH)[0]
    return _TEXTS[format](graph)


def render_bytes(graph: FlowGraph, format: str) -> bytes:
    """The graph as a file holds it, in any format of `FORMATS`. Raises as `render`."""
    return png(graph) if format == "png" else render(graph, format).encode()


def render_text(graph: FlowGraph, width: int, *, ascii_only: bool = False) -> tuple[str, str | None]:
    """Boxes, or lines where there can be none, and then why."""
    try:
        return boxes(graph, width, ascii_only=ascii_only), None
    except NoBoxes as reason:
        return lines(graph), str(reason)
