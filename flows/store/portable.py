"""A session as a file of JSON lines, to be taken in by another store.

The first line and the last one, alike, tell what it is; every line between them is one row, with numbers of the file
in place of ids. What the session shares with those it was forked from comes with it, as rows of its own. A damaged
line loses that row and no other.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, BinaryIO, NamedTuple

from pydantic import Field, TypeAdapter
from pydantic_core import from_json

from ...nodes.errors import UsageError
from ...tools.secret import Secrets
from .codec import known_facts, write_facts
from .database import Database
from .references import moved, referred
from .schema import MIGRATIONS
from .turns import INSERT, next_id, timestamp

SCHEMA = "turngraph.bundle/1"
ELSEWHERE = "of elsewhere"
"""The policy of a turn that was imported."""
_ROWS_AT_ONCE = 500
_OF_TURNS = ("turn", "resume", "message", "failure", "intent", "result", "visit", "repair", "seal", "end", "release")
_KINDS = (*_OF_TURNS, "setup", "branch", "prune", "compact", "external", "tree", "imported")
_WHOLE = 2**62
_BEGINNING = -1
"""In place of the id of the session's own row, which is told by the first line: what is before it is not its own."""

# Of a session that another branched off: what was there by then, and the turns that had begun by then to their ends.
_OF_SESSION = "session = ?1 AND (id <= ?2 OR turn <= ?2)"
_REFERRING = f"SELECT kind, facts FROM log WHERE {_OF_SESSION} AND kind IN ('branch', 'turn')"
_READ = f"""SELECT id, turn, iteration, kind, name, at, facts, content FROM log
    WHERE {_OF_SESSION} AND id > ?3 ORDER BY id LIMIT {_ROWS_AT_ONCE}"""
_IS_SETUP = "SELECT 1 FROM log WHERE id = ? AND kind = 'setup'"
_WRITE = """INSERT INTO log (id, session, turn, iteration, kind, name, at, facts, content)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""


class Exported(NamedTuple):
    """How many rows were written, and in how many of them secrets were replaced."""

    rows: int
    redacted: int


class Imported(NamedTuple):
    """The id that the session has here, how many of its rows were taken in, and how many are damaged or missing."""

    session: str
    rows: int
    lost: int


_Number = Annotated[int, Field(ge=0, lt=2**40)]
_Time = Annotated[int, Field(gt=-(2**62), lt=2**62)]


@dataclass(frozen=True)
class _Head:
    """The first line and the last: `rows` lie between them, `version` is that of the store they come from."""

    schema: str
    version: int
    session: str
    at: _Time
    facts: str
    rows: _Number


@dataclass(frozen=True)
class _Line:
    """One row; `id` and `turn` are numbers of this file, as are the rows that `facts` name."""

    id: _Number
    turn: _Number | None
    iteration: _Number
    kind: str
    name: str | None
    at: _Time
    facts: str
    content: str | None


_HEAD = TypeAdapter(_Head)
_LINE = TypeAdapter(_Line)


def export_bundle(database: Database, session: int, file: BinaryIO, hidden: Secrets) -> Exported:
    """See `Store.export_session`."""
    with database.transaction("DEFERRED"):
        blocks = _blocks(database, session)
        setups = _setups(database, blocks)
        numbers: dict[int, int] = {session: 1}
        for row in setups:
            numbers[row] = len(numbers) + 1
        for row in _ids(database, blocks, session):
            numbers.setdefault(row, len(numbers) + 1)
        name, at, facts = database.row("SELECT name, at, facts FROM log WHERE id = ?", session)
        head = _json(_Head(SCHEMA, len(MIGRATIONS), name, at, _hide(facts, hidden), len(numbers) - 1))
        file.write(head)
        redacted = 0
        for row, turn, iteration, kind, name, at, facts, content in _rows(database, blocks, setups, session):
            if kind == "session":
                kind, name, facts = "branch", None, write_facts({"after": 0})
            shown = _hide(facts, hidden), None if content is None else _hide(content, hidden)
            redacted += shown != (facts, content)
            told = moved(kind, shown[0], lambda one: numbers.get(one, 0))
            line = _Line(numbers[row], numbers.get(turn), iteration, kind, name, at, told, shown[1])
            file.write(_json(line))
        file.write(head)
    return Exported(len(numbers) - 1, redacted)


def import_bundle(database: Database, file: Iterable[bytes]) -> Imported:
    """See `Store.import_session`."""
    with database.transaction():
        reading = _Reading(database, next_id(database))
        for text in file:
            reading.take(text)
        return reading.finish()


@dataclass
class _Reading:
    """Takes in one line after another; `first` is the id of the session's row."""

    database: Database
    first: int
    head: _Head | None = None
    rows: int = 0
    damaged: int = 0
    last: int = 1
    setups: dict[int, int] = field(default_factory=dict[int, int])
    turns: set[int] = field(default_factory=set[int])
    open_turn: int | None = None

    def take(self, text: bytes) -> None:
        """Take in a line, or count it as damaged.

        Raises:
            UsageError: it is that of a newer turngraph.
        """
        try:
            told: Any = from_json(text)
            if isinstance(told, dict) and "schema" in told:
                self._begin(_HEAD.validate_python(told))
            else:
                self._row(_LINE.validate_python(told))
        except ValueError:
            self.damaged += bool(text.strip())

    def _begin(self, head: _Head) -> None:
        self._check(head.facts)
        if head.schema != SCHEMA or head.version > len(MIGRATIONS):
            raise UsageError(
                f"the bundle is {head.schema} of a store of version {head.version}, and this turngraph knows {SCHEMA} "
                f"up to version {len(MIGRATIONS)}; upgrade turngraph"
            )
        self.head = head

    def _row(self, line: _Line) -> None:
        if line.id <= self.last or line.kind not in _KINDS:
            raise ValueError("a row that comes too late, or that no bundle holds")
        self._check(line.facts)
        self.last = line.id
        if line.kind == "setup":
            self.setups[line.id] = self._setup(line)
            self.rows += 1
            return
        turn = line.id if line.kind == "turn" else line.turn
        if line.kind == "turn":
            self.turns.add(line.id)
        elif turn is not None and turn not in self.turns:
            turn = None  # the turn's own row is lost
        if turn is None and line.kind == "resume":
            raise ValueError("a turn that is lost was resumed")
        name = self._free_turn(line.name) if line.kind == "turn" else None
        self._write(line, turn, name)
        if line.kind in ("turn", "resume"):
            self.open_turn = turn
        elif turn == self.open_turn and line.kind in ("end", "release"):
            self.open_turn = None
        self.rows += 1

    def _check(self, facts: str) -> None:
        """Refuse what the indexes on facts could not read."""
        if self.database.row("SELECT CASE WHEN json_valid(?1) THEN json_type(?1) END", facts)[0] != "object":
            raise ValueError("the facts of a row are no JSON object")

    def _write(self, line: _Line, turn: int | None, name: str | None) -> None:
        facts = moved(line.kind, line.facts, self._id)
        place = (self._id(line.id), self.first, None if turn is None else self._id(turn))
        row = (*place, line.iteration, line.kind, name, line.at, facts, line.content)
        self.database.insert(_WRITE, [row])

    def _id(self, number: int) -> int:
        """The id here of a row of the file; 0, which no row has, for one that is not there."""
        return self.setups.get(number, self.first + number - 1 if number > 0 else 0)

    def _setup(self, line: _Line) -> int:
        """The row of a setup, without what would loosen a rule here: who resumes the turn says how it may run."""
        facts = write_facts({**known_facts(line.facts), "asked": {}, "policy": ELSEWHERE})
        name = hashlib.sha256(facts.encode()).hexdigest()
        found = self.database.row("SELECT id FROM log WHERE kind = 'setup' AND name = ?", name)
        if found is not None:
            return found[0]
        row = self.first + line.id - 1
        self.database.insert(INSERT, [(row, None, None, "setup", name, line.at, facts, None)])
        return row

    def _free_turn(self, name: str | None) -> str:
        if name is None or self.database.row("SELECT 1 FROM log WHERE kind = 'turn' AND name = ?", name):
            return uuid.uuid4().hex
        return name

    def finish(self) -> Imported:
        """Write the session's row, and one after all of the file's, so that no id of a lost one is given again.

        Raises:
            UsageError: the file holds no bundle.
        """
        head = self.head
        if head is None:
            raise UsageError(
                "there is no bundle of a session in it; `turngraph session export ID --format bundle` writes one"
            )
        taken = self.database.row("SELECT 1 FROM log WHERE kind = 'session' AND name = ?", head.session)
        name = secrets.token_hex(6) if taken else head.session
        self.database.insert(INSERT, [(self.first, self.first, None, "session", name, head.at, head.facts, None)])
        lost = max(head.rows - self.rows, self.damaged)
        row = self.first + max(head.rows, self.last - 1) + 1
        facts = write_facts({"from": head.session, "lost": lost})
        self.database.insert(INSERT, [(row, self.first, None, "imported", None, timestamp(), facts, None)])
        if self.open_turn is not None:  # nobody runs it here
            turn = self._id(self.open_turn)
            self.database.insert(INSERT, [(row + 1, self.first, turn, "release", None, timestamp(), "{}", None)])
        return Imported(name, self.rows, lost)


def _blocks(database: Database, session: int) -> dict[int, int]:
    """The sessions whose rows are needed, each with the last row of it that is; the session itself is the last."""
    needed: dict[int, int] = {}
    looked_at = {session: _WHOLE}
    while looked_at:
        one, upto = looked_at.popitem()
        if upto <= needed.get(one, -1):
            continue
        needed[one] = upto
        for kind, facts in database.rows(_REFERRING, one, upto):
            for row in referred(kind, facts):
                found = database.row("SELECT session FROM log WHERE id = ? AND session IS NOT NULL", row)
                if found is not None and found[0] != one:
                    looked_at[found[0]] = max(row, looked_at.get(found[0], -1))
    del needed[session]
    return dict(sorted(needed.items())) | {session: _WHOLE}


def _setups(database: Database, blocks: Mapping[int, int]) -> list[int]:
    """The setups of all turns, in the order of their first ones."""
    found: dict[int, None] = {}
    for session, upto in blocks.items():
        for kind, facts in database.rows(_REFERRING, session, upto):
            setup: object = known_facts(facts).get("setup")
            if kind == "turn" and isinstance(setup, int) and database.row(_IS_SETUP, setup):
                found[setup] = None
    return list(found)


def _ids(database: Database, blocks: Mapping[int, int], own: int) -> Iterator[int]:
    """The ids of what `_rows` gives but for the setups, in that order."""
    for session, upto in blocks.items():
        for (row,) in database.rows(f"SELECT id FROM log WHERE {_OF_SESSION} ORDER BY id", session, upto):
            yield row if row != own else _BEGINNING


def _rows(database: Database, blocks: Mapping[int, int], setups: Iterable[int], own: int) -> Iterator[Any]:
    """The rows of the setups, then session by session; each of these begins where the history of another ends."""
    for row in setups:
        yield database.row("SELECT id, turn, iteration, kind, name, at, facts, content FROM log WHERE id = ?", row)
    for session, upto in blocks.items():
        after = -1
        if session == own:
            yield _BEGINNING, None, 0, "session", None, 0, "{}", None
            after = own
        while rows := database.rows(_READ, session, upto, after):
            yield from rows
            after = rows[-1][0]


def _hide(text: str, hidden: Secrets) -> str:
    """JSON text without secrets; the same text if it has none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return hidden.redact(text)
    shown = hidden.redact_data(data)
    return text if shown is data else json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _json(line: _Head | _Line) -> bytes:
    return json.dumps(vars(line), ensure_ascii=False).encode() + b"\n"
