"""How the graph that a turn began in differs from another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def differences(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Roles, states and edges that were added or are gone, in words; nothing is said of a graph that is not known."""
    return list(_differences(recorded, now)) if recorded else []


def _differences(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    if recorded["start"] != now["start"]:
        yield f"it starts with {now['start']}, and did with {recorded['start']}"
    for role in sorted(recorded["states"].keys() | now["states"].keys()):
        before, after = recorded["states"].get(role), now["states"].get(role)
        if before is None or after is None:
            yield f"the role {role} is {'new' if before is None else 'gone'}"
        elif before != after:
            yield f"{role} runs in {after}, and did in {before}"
    edges, edges_now = (set(_edges(graph)) for graph in (recorded, now))
    for one, other in sorted(edges_now - edges):
        yield f"{one} may go on to {other}"
    for one, other in sorted(edges - edges_now):
        yield f"{one} no longer goes on to {other}"
    if (recorded["initial"], recorded["transitions"]) != (now["initial"], now["transitions"]):
        yield "its state machine is another"


def _edges(graph: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for role, ways in graph["edges"].items():
        for way in ways:
            yield role, way
