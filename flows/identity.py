"""What was run, in a form that two turns can be compared by: who played each role, and which graph."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..graphs.declared import DeclaredEdge
from ..nodes.node import TurnNode, class_name
from ..nodes.outcome import Played
from ..nodes.state import StateMachine

DIGITS = 16


@cache
def played_by(cls: type[TurnNode]) -> Played:
    """A class and the hash of its source file, which holds its functions too; not of other files it imports."""
    try:
        source = _hash(Path(inspect.getfile(cls)).read_bytes())
    except (OSError, TypeError):  # typed at a prompt, or piped in
        source = ""
    return Played(class_name(cls), source)


def graph_shape(
    start: str,
    lineup: Mapping[str, type[TurnNode]],
    edges: Mapping[str, Sequence[DeclaredEdge]],
    machine: StateMachine,
) -> dict[str, Any]:
    """What two graphs are compared by, as plain JSON: roles, states, edges and state machine.

    Names, labels, classes and the order in which things are declared do not count.
    """
    return {
        "start": start,
        "states": {role: str(cls.state) for role, cls in lineup.items()},
        "edges": {role: sorted({way.to for way in ways}) for role, ways in edges.items()},
        "initial": str(machine.initial),
        "transitions": {str(state): sorted(map(str, after)) for state, after in machine.transitions.items() if after},
    }


def graph_hash(shape: Mapping[str, Any]) -> str:
    """The same for flows with the same shape."""
    return _hash(json.dumps(shape, sort_keys=True).encode())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGITS]
