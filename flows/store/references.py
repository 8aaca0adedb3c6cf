"""Where the facts of a row name other rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from .codec import known_facts, write_facts

_PLACES: Mapping[str, tuple[str, ...]] = {
    "branch": ("after",),
    "turn": ("setup", "prompt", "origin.turn", "origin.visit"),
    "message": ("replaces",),
    "seal": ("items", "replies"),
    "compact": ("summary",),
    "external": ("turn",),
    "visit": ("changed.reply_row", "changed.history_row", "changed.unsealed"),
}
_OF_SESSIONS = ("after", "prompt", "origin.turn", "origin.visit")
"""Those that may name a row of another session."""


def moved(kind: str, facts: str, move: Callable[[int], int]) -> str:
    """The facts with other ids for the rows they name; as they are where they name none, or cannot be read."""
    places = _PLACES.get(kind, ())
    told = known_facts(facts) if places else {}
    changed = False
    for place in places:
        holder, name = _holder(told, place)
        if holder is not None and name in holder:
            holder[name] = _moved(holder[name], move)
            changed = True
    return write_facts(told) if changed else facts


def referred(kind: str, facts: str) -> list[int]:
    """The rows, perhaps of other sessions, that a row of a session rests on."""
    told = known_facts(facts)
    found = [_holder(told, place) for place in _PLACES.get(kind, ()) if place in _OF_SESSIONS]
    named = [holder.get(name) for holder, name in found if holder is not None]
    return [row for row in named if isinstance(row, int)]


def named_in(facts: str) -> set[int]:
    """The rows that a seal makes visible."""
    rows: set[int] = set()

    def note(row: int) -> int:
        rows.add(row)
        return row

    _moved(known_facts(facts).get("items"), note)
    return rows


def _holder(told: dict[str, Any], place: str) -> tuple[dict[str, Any] | None, str]:
    """The object that holds a place, if there is one, and the place's name in it."""
    outer, _, name = place.rpartition(".")
    holder = told.get(outer) if outer else told
    return (cast(dict[str, Any], holder) if isinstance(holder, dict) else None), name


def _moved(named: Any, move: Callable[[int], int]) -> Any:
    if isinstance(named, list):
        return [_moved(one, move) for one in cast(list[Any], named)]
    return move(named) if isinstance(named, int) else named
