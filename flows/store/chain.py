"""Which rows make up a session's history: its chain of seals, walked from the newest back as far as it is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .codec import all_facts, known_facts
from .database import Database
from .schema import CHAIN, OUTSIDE

_STEP = 200
_LINKS = f"""SELECT id, turn, kind, at, facts FROM log
    WHERE session = ? AND {CHAIN} AND id <= ? ORDER BY id DESC LIMIT {_STEP}"""

_OUTSIDE = f"""SELECT id, turn, kind, at, facts FROM log
    WHERE session = (SELECT session FROM log WHERE id = ?1) AND {OUTSIDE} AND id BETWEEN ?1 AND ?2 - 1
    ORDER BY id DESC"""


class Link(NamedTuple):
    """A row of the chain; it has no facts where they cannot be read."""

    id: int
    turn: int | None
    kind: str
    at: int
    facts: Mapping[str, Any]


class Item(NamedTuple):
    """One message: the row that holds it, or the rows of the results in it.

    The results in a `cleared` one are shown without their content. Of a `first` request after a cut they are left
    out: they answer a reply that was cut off.
    """

    rows: Sequence[int]
    results: bool = False
    reply: bool = False
    at: int = 0
    cleared: bool = False
    first: bool = False


Unit = Sequence[Item]
"""Messages that are visible together or not at all; none where the seal cannot be read."""


def links(database: Database, session: int, upto: int | None = None) -> Iterator[Link]:
    """The chain of a session as its row `upto` saw it, the newest first, through all sessions it branched off."""
    below = 2**62 if upto is None else upto
    while True:
        rows = database.rows(_LINKS, session, below)
        for row, facts in zip(rows, all_facts([row[4] for row in rows]), strict=True):
            link = Link(row[0], row[1], row[2], row[3], facts)
            below = link.id - 1
            if link.kind == "branch":
                below = facts.get("after", 0)
                origin = database.row("SELECT session FROM log WHERE id = ?", below)
                if origin is None:
                    return
                (session,) = origin
                break
            yield link
        else:
            if len(rows) < _STEP:
                return


def last_reply(database: Database, session: int) -> int | None:
    """The row of the reply that was sealed last in a session's history."""
    for link in links(database, session):
        if link.kind == "seal" and link.facts.get("replies"):
            return link.facts["replies"][-1]
    return None


def is_cut_since_last_reply(database: Database, session: int, upto: int | None) -> bool:
    """Whether something was cleared or summarised after the last reply of a history, as its row `upto` saw it."""
    for link in links(database, session, upto):
        if link.kind in ("prune", "compact"):
            return True
        if link.kind == "seal" and link.facts.get("replies"):
            return False
    return False


@dataclass
class _Walk:
    """What is known on the way back.

    `whole` and `kept` count replies from the newest: results before the `whole` last ones are cleared, and what is
    before the `kept` last ones is not part of the history, which begins with the `summaries`; those that were `passed`
    belong to it only where it is not cut after them. `floor` is the row of the turn that cut it: what came from
    outside during that turn was not cut.
    """

    units: list[Unit] = field(default_factory=list[Unit])
    last_seals: dict[int | None, int] = field(default_factory=dict[int | None, int])
    summaries: list[int] = field(default_factory=list[int])
    passed: list[int] = field(default_factory=list[int])
    replies: int = 0
    whole: float = math.inf
    kept: float = math.inf
    floor: int | None = None
    cut: bool = False

    def take(self, link: Link) -> None:
        """Add what a row says."""
        match link.kind:
            case "seal":
                self.last_seals.setdefault(link.turn, len(self.units))
                self._add(_sealed_unit(link))
            case "external":
                self.external(link)
            case "prune":
                self.whole = min(self.whole, self.replies + _count(link, "whole"))
            case "compact":
                self._compact(link)
            case _:
                pass

    def external(self, link: Link) -> None:
        item = Item((link.id,), reply=bool(link.facts.get("reply")), at=link.at)
        turn: int | None = link.facts.get("turn")
        if turn is not None and turn in self.last_seals:
            self.units.insert(self.last_seals[turn], (item,))
            for other, place in self.last_seals.items():
                if place >= self.last_seals[turn]:
                    self.last_seals[other] = place + 1
        elif self.cut:
            self.units.append((item,))
        else:
            self._add((item,))

    def _compact(self, link: Link) -> None:
        kept = self.replies + _count(link, "kept")
        self.passed.append(link.facts.get("summary", 0))
        if kept > self.kept:
            return
        self.kept, self.floor = kept, link.turn
        self.summaries += self.passed
        self.passed = []
        self.cut = kept == self.replies

    def _add(self, unit: Unit) -> None:
        if self.whole == self.kept == math.inf:
            self.units.append(unit)
            self.replies += sum([item.reply for item in unit])
            return
        taken: list[Item] = []
        for item in reversed(unit):
            closing = self.replies >= self.kept
            if closing and item.reply:
                self.cut = True
                break
            if closing and item.results:
                continue
            cleared = self.replies >= self.whole and not item.reply
            taken.append(item._replace(cleared=cleared, first=closing) if cleared or closing else item)
            self.replies += item.reply
        if taken or not unit:
            self.units.append(taken[::-1])


def history_units(database: Database, session: int, upto: int | None = None) -> list[Unit]:
    """The units of a session's history as its row `upto` saw it, the oldest first."""
    walk = _Walk()
    for link in links(database, session, upto):
        walk.take(link)
        if walk.cut:
            for other in _outside(database, walk.floor, link.id):
                walk.external(other)
            break
    first = walk.summaries if walk.cut else [*walk.summaries, *walk.passed]
    summaries: list[Unit] = [(Item((row,)),) for row in first]
    return [*summaries, *reversed(walk.units)]


def _outside(database: Database, turn: int | None, before: int) -> list[Link]:
    """What came from outside while the turn of a row ran, before a row, the newest first."""
    rows = [] if turn is None else database.rows(_OUTSIDE, turn, before)
    found = [Link(*row[:4], facts=known_facts(row[4])) for row in rows]
    return [link for link in found if link.facts.get("turn") == turn]


def sealed_unit(database: Database, row: int) -> Unit:
    """What the seal of a row makes visible."""
    found = database.row("SELECT id, turn, kind, at, facts FROM log WHERE id = ? AND kind = 'seal'", row)
    if found is None:
        return ()
    row, turn, kind, at, facts = found
    return _sealed_unit(Link(row, turn, kind, at, known_facts(facts)))


def _sealed_unit(link: Link) -> Unit:
    replies: Sequence[int] = link.facts.get("replies", ())
    items: Sequence[int | Sequence[int]] = link.facts.get("items", ())
    return tuple(
        [
            Item((item,), False, item in replies, link.at)
            if isinstance(item, int)
            else Item(item, True, False, link.at)
            for item in items
        ]
    )


def _count(link: Link, name: str) -> float:
    """A count of replies that a row says; without end where it cannot be read."""
    return link.facts.get(name, math.inf)
