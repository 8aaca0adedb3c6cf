"""JSON: all that is known of a graph, for programs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ...nodes.state import StateMachine
from ..extract import FlowGraph
from ..source import docstring_of, source_of

SCHEMA = "turngraph.graph/1"


def document(graph: FlowGraph) -> dict[str, Any]:
    """The graph as plain data: nodes and edges in their order, with figures where there are runs."""
    machine: StateMachine | None = graph.graph["machine"]
    return {
        "schema": SCHEMA,
        "name": graph.graph["name"],
        "machine": None if machine is None else _machine(machine),
        "nodes": [{"id": node, **_node(data)} for node, data in graph.nodes(data=True)],
        "edges": [
            {"from": source, "to": target, "label": edge["label"], **_more(edge)}
            for source, target, edge in graph.edges(data=True)
        ],
        **_more(graph.graph),
    }


def as_json(graph: FlowGraph) -> str:
    return json.dumps(document(graph), indent=2) + "\n"


def _machine(machine: StateMachine) -> dict[str, Any]:
    transitions = {str(state): sorted(map(str, following)) for state, following in machine.transitions.items()}
    return {"initial": str(machine.initial), "transitions": transitions}


def _node(data: Mapping[str, Any]) -> dict[str, Any]:
    source = source_of(data["definition"])
    return {
        "name": data["cls"],
        "kind": data["kind"],
        "state": data["state"],
        "doc": docstring_of(data["definition"]),
        "source": None if source is None else dataclasses.asdict(source),
        **_more(data),
    }


def _more(data: Mapping[str, Any]) -> dict[str, Any]:
    """What an overlay or a diff has added."""
    more: dict[str, Any] = {}
    for key in ("figures", "totals"):
        if data.get(key) is not None:
            more[key] = {name: _plain(value) for name, value in dataclasses.asdict(data[key]).items()}
    if data.get("tone") in ("added", "removed", "changed"):
        more["change"] = data["tone"]
    if data.get("notes"):
        more["notes"] = list(data["notes"])
    return more


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value
