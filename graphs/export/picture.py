"""SVG and PNG, drawn by graphviz-pure, which comes with the package; by Graphviz's own `dot` where it does not."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from ...nodes.errors import UsageError
from ..extract import FlowGraph
from .dot import dot
from .mermaid import node_ids
from .wording import name_of, visible

TIMEOUT = 120.0
"""Seconds that a drawing may take."""

_PROGRAM = "graphviz-pure"
_SCALE = 144
"""Dots per inch of a PNG: two for each of the drawing's points, for screens that have them."""


def svg(graph: FlowGraph) -> str:
    """The drawing as SVG; resting on a node shows what it is for.

    Raises:
        UsageError: there is no program that draws, or it failed.
    """
    text = _draw(graph, "-Tsvg").decode("utf-8")
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = text.replace('font-family="Arial"', 'font-family="Arial,Helvetica,sans-serif"')
    titles = {ids: _title(graph, node) for node, ids in node_ids(graph).items()}
    return re.sub(r"<title>(.*?)</title>\n?", lambda found: _retitled(found[1], titles), text)


def png(graph: FlowGraph) -> bytes:
    """The drawing as PNG, twice the size of the SVG.

    Raises:
        UsageError: there is no program that draws, or it failed.
    """
    return _draw(graph, "-Tpng", f"-Gdpi={_SCALE}")


def _draw(graph: FlowGraph, *options: str) -> bytes:
    try:
        done = subprocess.run(
            [_program(), *options], input=dot(graph).encode(), capture_output=True, check=False, timeout=TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"the graph could not be drawn: {error}; --format dot gives its source") from error
    if done.returncode:
        said = visible(" ".join(done.stderr.decode(errors="replace").split()))
        raise UsageError(f"the graph could not be drawn: {said}; --format dot gives its source")
    return done.stdout


def _program() -> str:
    beside = Path(sysconfig.get_path("scripts")) / _PROGRAM
    found = str(beside) if beside.is_file() else shutil.which(_PROGRAM) or shutil.which("dot")
    if found is None:
        raise UsageError(
            "pictures are drawn by graphviz-pure, which is not published for this machine; install Graphviz so that "
            "dot is on the PATH, or take --format mermaid, dot, json or text"
        )
    return found


def _title(graph: FlowGraph, node: str) -> str:
    said = visible(graph.nodes[node]["doc"])
    return f"{name_of(graph, node)}: {said}" if said else name_of(graph, node)


def _retitled(title: str, titles: dict[str, str]) -> str:
    """Titles of nodes say what they are for; those of edges and clusters, which are ids, go."""
    return f"<title>{html.escape(titles[title])}</title>\n" if title in titles else ""
