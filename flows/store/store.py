"""The store: sessions, their histories, and the turns that own them."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

from pydantic_ai.messages import ModelMessage, ModelRequest

from ...nodes.errors import UsageError
from ...nodes.history.sanitise import sanitise
from ...tools.secret import Secrets, environment_secrets
from . import lineage, portable, sessions, turns
from .codec import write_facts, write_message
from .database import Database
from .history import load_history, load_seals
from .journal import read_added, read_journal, read_message, read_turn_body
from .portable import Exported, Imported
from .records import LoadedHistory, Origin, Record, SessionSummary, TurnBody, TurnHead
from .rows import is_reply
from .schema import OWNERS
from .turns import INSERT, LEASE
from .writer import TurnWriter, timestamp


class Store:
    """All sessions of a user, in one file. Every method may raise `StoreError`."""

    def __init__(self, database: Database, lease: timedelta = LEASE) -> None:
        self._database = database
        self._lease = lease

    @classmethod
    def open(cls, path: Path, *, lease: timedelta = LEASE) -> Store:
        """Open the store at a path; it and the directories it lacks are created for the user alone.

        A store of an older version is brought to this one, or left as it was. A process that was stopped and gave
        no sign for longer than `lease` loses its session to the next who wants it.

        Raises:
            StoreError: the file cannot be opened, is damaged, another program's, or of a newer turngraph.
        """
        return cls(Database(path), lease)

    @classmethod
    def in_memory(cls) -> Store:
        return cls(Database(None))

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create_session(self, workdir: str, *, after: int | None = None) -> str:
        """A new session: an empty one, or one with the history that the row `after`, of another, sees.

        Raises:
            UsageError: there is no row `after`.
        """
        session_id = secrets.token_hex(6)
        with self._database.transaction():
            row = turns.next_id(self._database)
            facts = write_facts({"workdir": workdir})
            self._database.insert(INSERT, [(row, row, None, "session", session_id, timestamp(), facts, None)])
            if after is not None:
                self._branch(row, after)
        return session_id

    def branch(self, session_id: str, after: int) -> None:
        """Go on from the history that a row sees, of this session or another; what came later stays, unseen.

        Raises:
            UnknownSession: there is no such session.
            SessionBusy: a turn of the session is running.
            UsageError: there is no such row.
        """
        with self._database.transaction():
            session = self._free(session_id)
            self._branch(session, after)

    def _branch(self, session: int, after: int) -> None:
        if self._database.row("SELECT 1 FROM log WHERE id = ? AND session IS NOT NULL", after) is None:
            raise UsageError(f"no session has a row {after}, so none can branch off after it; name a row of a journal")
        row = turns.next_id(self._database)
        facts = write_facts({"after": after})
        self._database.insert(INSERT, [(row, session, None, "branch", None, timestamp(), facts, None)])

    def latest_session(self, workdir: str) -> str | None:
        """The session that was created, or began a turn, last in a directory."""
        return sessions.latest_session(self._database, workdir)

    def find_session(self, prefix: str) -> str:
        """The one session whose id begins with `prefix`, at least 4 characters of it.

        Raises:
            UnknownSession: no session fits, or several do.
        """
        return sessions.find_session(self._database, prefix)

    def sessions(self) -> list[SessionSummary]:
        """All sessions, the one used last first. What cannot be decoded of one is empty in its summary."""
        return sessions.summaries(self._database)

    def delete_session(self, session_id: str) -> None:
        """Delete a session with all its turns, and overwrite what they said.

        Raises:
            UnknownSession: there is no such session.
            SessionBusy: a turn of the session is running.
            StoreError: other sessions were forked from it.
        """
        self._database.execute("PRAGMA secure_delete = ON")
        with self._database.transaction():
            sessions.delete(self._database, self._free(session_id), session_id)
        self._database.row("PRAGMA wal_checkpoint(TRUNCATE)")

    def export_session(self, session_id: str, file: BinaryIO, hidden: Secrets) -> Exported:
        """Write a session as a bundle: its rows, and those of others that it was forked from, without the secrets.

        Raises:
            UnknownSession: there is no such session.
            OSError: the file cannot be written.
        """
        return portable.export_bundle(self._database, turns.session_row(self._database, session_id), file, hidden)

    def import_session(self, file: Iterable[bytes]) -> Imported:
        """Take in the lines of a bundle as one session, all of them that can be read, or none.

        A session or a turn whose id is taken here gets another one.

        Raises:
            UsageError: it is no bundle, or one of a newer turngraph.
        """
        return portable.import_bundle(self._database, file)

    def turns(self, session_id: str) -> list[str]:
        """The ids of a session's turns, the oldest first.

        Raises:
            UnknownSession: there is no such session.
        """
        session = turns.session_row(self._database, session_id)
        sql = f"SELECT name FROM log WHERE session = ? AND {OWNERS} AND kind = 'turn' ORDER BY id"
        return [name for (name,) in self._database.rows(sql, session)]

    def history_turns(self, session_id: str) -> list[str]:
        """The ids of the turns that a session's history is made of, the oldest first, those of other sessions too.

        Raises:
            UnknownSession: there is no such session.
        """
        return lineage.history_turns(self._database, turns.session_row(self._database, session_id))

    def branch_point(self, session_id: str, turn_id: str | None = None) -> int:
        """The row after which to branch off for a session's whole history, or that to the end of one of its turns.

        Raises:
            UnknownSession: there is no such session.
            UsageError: the turn is not one of this session, nor of what its history shares with others.
        """
        session = turns.session_row(self._database, session_id)
        return lineage.branch_point(self._database, session, session_id, turn_id)

    def latest_turns(self, count: int) -> list[str]:
        """The ids of the turns that began last, of any session, the oldest of them first."""
        # Back from the newest row, which meets them soon; an index on kinds would be sorted first.
        sql = "SELECT name FROM log WHERE +kind = 'turn' ORDER BY id DESC LIMIT ?"
        return [name for (name,) in reversed(self._database.rows(sql, count))]

    def find_turn(self, prefix: str) -> str:
        """The one turn whose id begins with `prefix`, at least 4 characters of it.

        Raises:
            UsageError: no turn fits, or several do.
        """
        if not re.fullmatch("[0-9a-f]{4,32}", prefix):
            raise UsageError(f"{prefix!r} is no id of a turn: give its first 4 to 32 hex digits")
        sql = "SELECT name FROM log WHERE kind = 'turn' AND name >= ? AND name < ? LIMIT 2"
        found = self._database.rows(sql, prefix, prefix + "g")
        if len(found) != 1:
            many = "several turns begin" if found else "no turn begins"
            raise UsageError(f"{many} with {prefix}; a run's JSON holds its turn_id, and --last 5 draws the newest")
        return found[0][0]

    def journal(self, turn_id: str, kinds: Sequence[str] | None = None) -> list[Record]:
        """Every row of a turn in the order written, none for a turn that is not in the store.

        With `kinds` only rows of these, and no other is read; an end tells its answer only among the whole journal.
        """
        return read_journal(self._database, turn_id, kinds)

    def turn_body(self, turn_id: str) -> TurnBody:
        """What a turn began with.

        Raises:
            UsageError: there is no such turn.
            StoreError: its row is damaged.
        """
        return read_turn_body(self._database, turns.turn_row(self._database, turn_id))

    def load_messages(self, session_id: str, upto: int | None = None) -> LoadedHistory:
        """The sealed messages of a session, in the order of their seals, as its row `upto` saw them (inclusive).

        A seal with a row that cannot be decoded is left out as a whole: no call may be without its result.
        Neighbouring requests come as one.

        Raises:
            UnknownSession: there is no such session.
        """
        return load_history(self._database, turns.session_row(self._database, session_id), upto)

    def message(self, row: int) -> ModelMessage | None:
        """The message that a row holds, sealed or not, as it was written; `None` where none can be read."""
        return read_message(self._database, row)

    def sealed_messages(self, seals: Sequence[int]) -> list[ModelMessage]:
        """The messages that the seals of these rows make visible; none of a seal with one that cannot be read."""
        return load_seals(self._database, seals)

    def add_messages(self, session_id: str, messages: Sequence[ModelMessage]) -> list[str]:
        """Put messages from outside into a session, also while a turn runs: they come after what it says.

        Returns:
            What had to be mended so that the messages are valid by themselves, in words.

        Raises:
            UnknownSession: there is no such session.
        """
        valid, mended = sanitise(environment_secrets().redact_data(list(messages)))
        rows = [(message, write_message(message)) for message in valid]
        with self._database.transaction():
            session = turns.session_row(self._database, session_id)
            holder = turns.holder_of(self._database, session)
            running = holder.turn if turns.is_running(self._database, holder, self._lease) and holder else None
            for message, content in rows:
                facts = {} if running is None else {"turn": running}
                facts |= {"reply": True} if is_reply(message) else {}
                row = turns.next_id(self._database)
                said = (row, session, None, "external", None, timestamp(), write_facts(facts), content)
                self._database.insert(INSERT, [said])
        return mended

    def added(self, session_id: str) -> list[Record]:
        """What was put into a session from outside, the oldest first.

        Raises:
            UnknownSession: there is no such session.
        """
        return read_added(self._database, turns.session_row(self._database, session_id), session_id)

    def begin_turn(
        self,
        head: TurnHead,
        prompt: ModelRequest | None,
        *,
        origin: Origin | None = None,
        prompt_row: int | None = None,
    ) -> TurnWriter:
        """Take the session for a turn.

        A turn that was cut off (its process or its writer is gone) loses the session and writes no more. `prompt` is
        the message as it will be sent; with `prompt_row` it is the one of that row, and not stored again.

        Raises:
            UnknownSession: there is no such session.
            SessionBusy: a turn of the session is running.
            UsageError: the turn that `origin` names is not in the store.
            StoreError: the turn's id is taken.
        """
        taken = turns.begin(self._database, self._lease, head, prompt, origin, prompt_row)
        return TurnWriter(self._database, taken)

    def take_over(self, turn_id: str) -> TurnWriter:
        """Take the session again for a turn that was cut off, to go on with it; its owner so far writes no more.

        Raises:
            UsageError: there is no such turn, it has ended, or a later turn of its session has begun.
            SessionBusy: the turn is running.
            StoreError: what it began with cannot be read.
        """
        return TurnWriter(self._database, turns.take_over(self._database, self._lease, turn_id))

    def unfinished_turn(self, session_id: str) -> str | None:
        """The session's last turn, if it has no end: it runs, or it was cut off.

        Raises:
            UnknownSession: there is no such session.
        """
        holder = turns.holder_of(self._database, turns.session_row(self._database, session_id))
        return None if holder is None or holder.ended else holder.turn_id

    def _free(self, session_id: str) -> int:
        """The row of a session that no turn runs in; asked inside a transaction."""
        session = turns.session_row(self._database, session_id)
        turns.refuse_if_running(self._database, session_id, turns.holder_of(self._database, session), self._lease)
        return session
