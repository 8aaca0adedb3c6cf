"""Which snapshot holds the files of a workspace as they were at a boundary of a turn."""

from __future__ import annotations

from collections.abc import Iterable

from ..tools.effects import Effect
from .journal.standing import standing
from .store import IntentBody, Record, ResumeBody, Store, TreeBody


def tree_at(store: Store, turn_id: str, at: int) -> str | None:
    """The commit of the files after visit `at` of a turn, 0 for its beginning; `None` where none was recorded.

    Raises:
        UsageError: the turn has no such boundary.
        StoreError: the turn cannot be read.
    """
    row = standing(store, turn_id, at).row
    while True:
        journal = store.journal(turn_id)
        before = [record for record in reversed(journal) if record.id <= row]
        found = _first_tree(before) or _first_tree(_unchanged(record for record in journal if record.id > row))
        origin = store.turn_body(turn_id).origin
        if found is not None or origin is None:
            return found
        turn_id, row = origin.turn, origin.visit


def _first_tree(records: Iterable[Record]) -> str | None:
    return next((record.body.commit for record in records if isinstance(record.body, TreeBody)), None)


def _unchanged(later: Iterable[Record]) -> Iterable[Record]:
    """The rows until the files may be others: until a call that does not only read, or another time."""
    for record in later:
        body = record.body
        if isinstance(body, ResumeBody) or (isinstance(body, IntentBody) and body.effect is not Effect.READ_ONLY):
            return
        yield record
