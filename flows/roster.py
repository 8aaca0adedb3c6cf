"""Who can play which role, as plain data."""

from __future__ import annotations

import inspect
from typing import Any

from ..nodes.errors import UsageError
from ..nodes.node import TurnNode, class_name
from ..nodes.variants import VARIANTS
from .flow import STANDARD
from .swap import never_asked, offered, resolve_swap


def roster() -> dict[str, list[dict[str, Any]]]:
    """The standard roles, the variants of this package, and those that others offer, which are not imported."""
    return {
        "roles": [
            {"role": role, "class": cls.__name__, "state": str(cls.state), "to": [way.to for way in ways]}
            for (role, cls), ways in zip(STANDARD.lineup.items(), STANDARD.edges.values(), strict=True)
        ],
        "variants": [
            {"name": name, "role": one.role, "argument": one.argument, "trade": one.trade}
            for name, one in VARIANTS.items()
        ],
        "offered": [
            {"name": entry.name, "package": entry.dist.name if entry.dist else "", "value": entry.value}
            for entry in offered()
        ],
    }


def describe(text: str) -> dict[str, Any]:
    """Who plays a role, or a swap typed as `ROLE=CLASS`, and what it was seen to write in scripted turns.

    Raises:
        UsageError: there is no such role, or as `resolve_swap`.
    """
    from .testing import NodeContract, ScriptedModel

    played: type[TurnNode]
    playing: type[TurnNode]
    if "=" in text:
        played = resolve_swap(text, STANDARD, models=never_asked)
        playing = resolve_swap(text, STANDARD, models=lambda spec: ScriptedModel("", "A.", ""))
    elif text in STANDARD.lineup:
        played = playing = STANDARD.lineup[text]
    else:
        raise UsageError(f"there is no role {text!r}; the roles are {', '.join(STANDARD.lineup)}")

    class Played(NodeContract):
        variant = playing

    return {
        "role": played.role,
        "class": class_name(played),
        "source": _source(played),
        "state": str(played.state),
        "doc": inspect.getdoc(played) or "",
        "edges": [{"to": way.to, "label": way.label} for way in Played.swapped().edges[played.role]],
        "writes": sorted(Played.seen_to_write()),
    }


def _source(played: type[TurnNode]) -> dict[str, Any] | None:
    """Where the class is written, or what it was made from."""
    for cls in played.__mro__:
        try:
            return {"file": inspect.getfile(cls), "line": inspect.getsourcelines(cls)[1]}
        except (OSError, TypeError):  # made by a function, or typed at a prompt
            continue
    return None
