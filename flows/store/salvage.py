"""What can be read of a store's file, however damaged, and what is wrong with the rest."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .codec import read_facts
from .references import named_in
from .rows import Row, prompt_of
from .schema import MIGRATIONS

_DAMAGED = (ValueError, TypeError, KeyError, IndexError, AttributeError)
_AT_ONCE = 500
_FAR = 10_000
_LAST_ID = (
    "SELECT id FROM log NOT INDEXED ORDER BY id DESC LIMIT 1",
    "SELECT id FROM log INDEXED BY log_turn WHERE turn IS NOT NULL ORDER BY id DESC LIMIT 1",
)
_TOLD_BY_BODY = {"message", "failure", "intent", "result", "visit", "repair", "seal", "external", "resume"} | {
    *("release", "branch", "prune", "compact", "tree")
}
_SEALED = ("turn", "message", "result", "external")
"""The kinds of rows that a seal can make visible."""


@dataclass
class Findings:
    """What is wrong: with pages and indexes, in SQLite's words, and how many rows there are of each kind of fault.

    `unreadable` rows do not decode; `torn` seals name a row that is missing or unreadable, so that what they make
    visible is left out of histories; `strays` belong to a session or a turn whose own row is missing. `skipped` rows
    lie on pages that cannot be read. Of a file of an older version only the pages and indexes are looked at.
    """

    pages: Sequence[str] = ()
    rows: int = 0
    skipped: int = 0
    unreadable: int = 0
    torn: int = 0
    strays: int = 0

    @property
    def sound(self) -> bool:
        return not (self.pages or self.skipped or self.unreadable or self.torn or self.strays)


class Reading:
    """Reads all rows that can be read: once to know which there are, and again to know what of theirs is not."""

    def __init__(self, connection: sqlite3.Connection, seconds: float | None = None) -> None:
        """Read them, for so many seconds at most.

        Raises:
            TimeoutError: it takes longer.
            sqlite3.Error: nothing can be read.
        """
        connection.text_factory = _text
        self._connection = connection
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self.columns = [row[1] for row in connection.execute("PRAGMA table_info(log)")]
        self.findings = Findings(self._faults_of_pages())
        self.lost_sessions: dict[int, str | None] = {}
        self.kept = 0
        self._names: dict[int, str | None] = {}
        self._sessions: set[int] = set()
        self._turns: set[int] = set()
        self._whole: set[int] = set()
        self._sayable: set[int] = set()
        self._speechless: set[int] = set()
        # What rows of an older version say is looked at when they are brought to this one.
        self._is_current = connection.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
        read: set[int] = set()
        skipped: set[int] = set()
        for row in self._read(skipped.add):
            read.add(row[0])
            self.findings.rows += 1
            if self._is_current:
                self._note(row)
        self.findings.skipped = len(skipped | (self._indexed() - read))
        for row in self._read(_pass) if self._is_current else ():
            self._compare(row)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows of a sound store: without what does not decode, torn seals, and the turns of rows that lost them."""
        for row in self._read(_pass):
            if self._is_current:
                number, _, turn, _, kind, _, _, facts, _ = row
                if number not in self._whole or self._is_torn(kind, facts):
                    continue
                if turn is not None and turn not in self._turns:
                    if kind == "resume":
                        continue
                    row = (*row[:2], None, *row[3:])
                if number in self._speechless:
                    row = (*row[:-1], None)
            self.kept += 1
            yield row

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _faults_of_pages(self) -> list[str]:
        self._connection.set_progress_handler(self._is_late, 100_000)
        try:
            found = [" ".join(row[0].split()) for row in self._connection.execute("PRAGMA integrity_check(5)")]
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise TimeoutError from error
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:  # an index on facts that are no JSON any more
                stop_at(error)
            return [str(error)]
        finally:
            self._connection.set_progress_handler(None, 0)
        return found if found != ["ok"] else []

    def _note(self, row: tuple[Any, ...]) -> None:
        number, kind = row[0], row[4]
        if not _is_whole(row):
            self.findings.unreadable += 1
            if kind == "session":
                self._names[number] = row[5]
            if kind != "turn" or not _is_whole((*row[:-1], None)):
                return
            self._speechless.add(number)
        self._whole.add(number)
        if kind in _SEALED and number not in self._speechless:
            self._sayable.add(number)
        if kind == "session":
            self._sessions.add(number)
        elif kind == "turn":
            self._turns.add(number)

    def _compare(self, row: tuple[Any, ...]) -> None:
        number: int = row[0]
        session: int | None = row[1]
        turn: int | None = row[2]
        if number not in self._whole:
            return
        self.findings.torn += self._is_torn(row[4], row[7])
        without_session = session is not None and session not in self._sessions
        if session is not None and without_session:
            self.lost_sessions[session] = self._names.get(session)
        self.findings.strays += without_session or (turn is not None and turn not in self._turns)

    def _is_torn(self, kind: str, facts: str) -> bool:
        return kind == "seal" and not self._sayable.issuperset(named_in(facts))

    def _indexed(self) -> set[int]:
        """The rows of turns that an index knows: a damaged page may lose rows without a word."""
        with suppress(sqlite3.DatabaseError):
            sql = "SELECT id FROM log INDEXED BY log_turn WHERE turn IS NOT NULL"
            return {number for (number,) in self._connection.execute(sql).fetchall()}
        return set()

    def _read(self, skip: Callable[[int], object]) -> Iterator[tuple[Any, ...]]:
        """The rows by their ids; around a page that cannot be read, one by one."""
        last, end = 0, None
        while True:
            if self._is_late():
                raise TimeoutError
            try:
                found = self._select("id > ? ORDER BY id", last, most=_AT_ONCE)
            except sqlite3.DatabaseError as error:
                stop_at(error)
                end = self._last_id(last) if end is None else end
                if last >= end:
                    return
                numbers = range(last + 1, min(last + _AT_ONCE, end) + 1)
                found = [row for number in numbers for row in self._one(number, skip)]
                last = numbers[-1]
            else:
                if not found:
                    return
                last = found[-1][0]
            yield from found

    def _one(self, number: int, skip: Callable[[int], object]) -> list[tuple[Any, ...]]:
        try:
            return self._select("id = ?", number, most=1)
        except sqlite3.DatabaseError as error:
            stop_at(error)
            skip(number)
            return []

    def _select(self, where: str, value: int, *, most: int) -> list[tuple[Any, ...]]:
        sql = f"SELECT {', '.join(self.columns)} FROM log NOT INDEXED WHERE {where} LIMIT {most}"
        return self._connection.execute(sql, (value,)).fetchall()

    def _last_id(self, last: int) -> int:
        """The last id that a row has; where neither the rows nor an index of them can tell, one far enough away."""
        found: list[int] = []
        for sql in _LAST_ID:
            with suppress(sqlite3.DatabaseError):
                found += [row[0] for row in self._connection.execute(sql)]
        return max(found, default=last + _FAR)


def _is_whole(row: tuple[Any, ...]) -> bool:
    """Whether a row of the current version decodes; of a kind that is not known, its facts must."""
    number, session, turn, iteration, kind, name, at, facts, content = row
    if not all(isinstance(one, int) for one in (number, session or 0, turn or 0, iteration, at)):
        return False
    try:
        f"{kind}{name}".encode()
        told, held = read_facts(facts.encode().decode()), None if content is None else content.encode()
        if kind == "turn" and held is not None:
            prompt_of(held)
        elif kind in _TOLD_BY_BODY:
            Row(kind, iteration, told, held).body({})
        return name is not None or kind not in ("session", "turn")
    except _DAMAGED:
        return False


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogateescape")


def _pass(number: int) -> None:
    """What was skipped has been counted."""


def stop_at(error: sqlite3.DatabaseError) -> None:
    """Raise again what is no damage."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
        raise error
