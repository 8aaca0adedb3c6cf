"""One HTML page that needs nothing else: the drawing, and beside it what each node is, does and did."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

from ..extract import FlowGraph, inner_nodes
from ..figures import NodeFigures, Totals, dollars, duration, portion, totals_line
from ..source import docstring_of, source_of
from .mermaid import node_ids
from .picture import svg
from .wording import edge_lines, name_of, visible

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --quiet: #59636e; --paper: #f6f8fa; --card: #ffffff;
  --line: #d1d9e0; --mark: #0969da; }
@media (prefers-color-scheme: dark) { :root { --ink: #f0f6fc; --quiet: #9198a1; --paper: #0d1117; --card: #151b23;
  --line: #3d444d; --mark: #4493f8; } }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
header { padding: 1.2rem 1.5rem 0; }
h1 { margin: 0; font-size: 1.4rem; }
header p { margin: 0.2rem 0 0; color: var(--quiet); }
main { display: flex; flex-wrap: wrap; gap: 1.5rem; padding: 1.5rem; align-items: flex-start; }
figure { margin: 0; padding: 0.5rem; border: 1px solid var(--line); border-radius: 10px; background: #ffffff;
  overflow: auto; max-width: 100%; }
figure svg { display: block; max-width: 100%; height: auto; }
.node { cursor: pointer; }
.node.lit path, .node.lit polygon { stroke: #0969da; stroke-width: 2.5; }
.node:focus { outline: none; }
.edge.lit path { stroke: #0969da; stroke-width: 2.5; }
aside { flex: 1 1 22rem; min-width: 0; }
section { padding: 0.9rem 1.1rem; margin: 0 0 0.8rem; border: 1px solid var(--line); border-radius: 10px;
  background: var(--card); }
section.lit { border-color: var(--mark); box-shadow: 0 0 0 1px var(--mark); }
h2 { margin: 0; font-size: 1.05rem; }
h2 small { font-weight: normal; color: var(--quiet); }
pre { margin: 0.5rem 0; white-space: pre-wrap; font: inherit; }
ul { margin: 0.4rem 0; padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 0.9rem; margin: 0.5rem 0 0; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
code { font: 0.9em ui-monospace, monospace; }
"""
_SCRIPT = """
const nodes = document.querySelectorAll('.node');
const light = (id) => document.querySelectorAll('[data-node]').forEach((one) =>
  one.classList.toggle('lit', one.dataset.node.split(' ').includes(id)));
nodes.forEach((node) => {
  const section = document.getElementById('about-' + node.id);
  if (!section) return;
  const show = () => { light(node.id); section.scrollIntoView({ block: 'nearest', behavior: 'smooth' }); };
  node.dataset.node = node.id;
  node.setAttribute('tabindex', '0');
  node.addEventListener('mouseenter', () => light(node.id));
  node.addEventListener('focus', show);
  node.addEventListener('click', show);
});
document.querySelectorAll('aside section').forEach((section) =>
  section.addEventListener('mouseenter', () => light(section.dataset.node)));
"""


def page(graph: FlowGraph) -> str:
    """The page. Resting on a node lights what the page says of it, a click scrolls there; without scripts both are
    there to read.

    Raises:
        UsageError: the drawing cannot be made.
    """
    ids = node_ids(graph)
    name = _text(str(graph.graph["name"]))
    totals: Totals | None = graph.graph.get("totals")
    counts = f"{len(inner_nodes(graph))} nodes, {graph.number_of_edges()} edges"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
            "script-src 'unsafe-inline'\">",
            f"<title>{name}</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            f"<header><h1>{name}</h1><p>{_text(totals_line(totals)) if totals else counts}</p></header>",
            "<main>",
            f"<figure>{_drawing(graph, ids)}</figure>",
            "<aside>",
            *(_section(graph, node, ids[node]) for node in inner_nodes(graph)),
            "</aside>",
            "</main>",
            f"<script>{_SCRIPT}</script>",
            "</body>",
            "</html>\n",
        ]
    )


def _drawing(graph: FlowGraph, ids: dict[str, str]) -> str:
    """The SVG without its prologue, each edge bound to its two ends."""
    text = svg(graph)
    text = text[text.index("<svg") :].strip()
    for number, (source, target) in enumerate(graph.edges()):
        text = text.replace(f'<g id="e{number}"', f'<g data-node="{ids[source]} {ids[target]}" id="e{number}"', 1)
    return re.sub(r' xmlns:xlink="[^"]*"', "", text)


def _section(graph: FlowGraph, node: str, element: str) -> str:
    data = graph.nodes[node]
    source = source_of(data["definition"])
    doc = docstring_of(data["definition"])
    state = f" {_text(data['state'])}" if data["state"] else ""
    facts = [("id", _code(node)), *([("source", _code(str(source)))] if source else [])]
    if data.get("writes"):
        facts.append(("seen to write", ", ".join(map(_code, data["writes"]))))
    facts += [(term, _text(value)) for term, value in _figures(data.get("figures"))]
    ways = [(name_of(graph, target), edge_lines(edge)) for _, target, edge in graph.out_edges(node, data=True)]
    return "\n".join(
        [
            f'<section id="about-{element}" data-node="{element}">',
            f"<h2>{_text(name_of(graph, node))} <small>{_text(data['kind'])}{state}</small></h2>",
            *([f"<pre>{_text(doc, lines=True)}</pre>"] if doc else []),
            *_list(f"&rarr; {_text(to)}{_text(': ' + ', '.join(said)) if said else ''}" for to, said in ways),
            f"<dl>{''.join(f'<dt>{term}</dt><dd>{value}</dd>' for term, value in facts)}</dl>",
            "</section>",
        ]
    )


def _figures(figures: NodeFigures | None) -> list[tuple[str, str]]:
    if figures is None:
        return []
    facts = [
        ("visits", f"{figures.visits}, of which {figures.errors} failed"),
        ("time", f"{duration(figures.total_ms)}, {portion(figures.share)} of all"),
        ("a visit", f"p50 {duration(figures.p50_ms)}, p95 {duration(figures.p95_ms)}"),
    ]
    if figures.requests:
        cost = "price unknown" if figures.cost is None else dollars(figures.cost)
        spent = f"{figures.input_tokens:,} in + {figures.output_tokens:,} out tokens, {cost}"
        facts.append(("model requests", f"{figures.requests}: {spent}"))
    return facts


def _list(items: Iterable[str]) -> list[str]:
    listed = [f"<li>{item}</li>" for item in items]
    return ["<ul>", *listed, "</ul>"] if listed else []


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: Any, *, lines: bool = False) -> str:
    kept = "\n".join(map(visible, str(text).split("\n"))) if lines else visible(str(text))
    return html.escape(kept)
