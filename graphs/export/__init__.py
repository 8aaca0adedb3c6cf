"""A flow's graph as text in one of the formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..extract import FlowGraph
from .mermaid import mermaid
from .text import text

FORMATS: Mapping[str, Callable[[FlowGraph], str]] = {"mermaid": mermaid, "text": text}


def render(graph: FlowGraph, format: str) -> str:
    """The graph in a format of `FORMATS`, ending in a newline.

    Raises:
        KeyError: there is no such format.
    """
    return FORMATS[format](graph)
