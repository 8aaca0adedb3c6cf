"""Names and labels that break drawings."""

from __future__ import annotations

from hypothesis import strategies as st
from turngraph.graphs.extract import END, START, FlowGraph

from ..castings import drawn

NAMES = [
    "End",
    "end",
    "default",
    "any_api_call",
    "my_parent",
    "x_graph",
    "_self",
    "tool[0]",
    'a"b',
    "x|y",
    "List[int]",
    "wait input",
    "call-tools",
    "wait-input",
    "%% c",
    "a\nb",
    "#35;",
    "#quot;",
    "<b>&amp;</b>",
    "`*_`",
    "\x1b[31m",
    "\\N\\G\\l",
    "a;b",
    "a: b",
    "{x}",
    "(y)",
    "a --> b",
    "</script><img src=x>",
    "é 中文 🙂",
    "\udc80",
    "\u202eabc",
    "",
    " ",
    "class",
    "state",
    "[*]",
    "direction TB",
    "1. list",
    "- list",
    "# heading",
]
TEXTS = st.sampled_from(NAMES) | st.text(st.characters(), max_size=12)


def hostile(names: list[str] = NAMES) -> FlowGraph:
    """A chain of nodes with these names, each also the label of an edge, in states with such names."""
    ids = [f"n{number}" for number in range(len(names))]
    states = {node: names[number // 10 * 10] or "assistant" for number, node in enumerate(ids)}
    graph = drawn(*zip([START, *ids], [*ids, END], strict=True), states=states)
    for node, name in zip(ids, names, strict=True):
        graph.nodes[node]["cls"] = name
        graph.nodes[node]["doc"] = name
        (edge,) = (edge for _, _, edge in graph.out_edges(node, data=True))
        edge["label"] = name
    graph.graph["name"] = names[0]
    return graph
