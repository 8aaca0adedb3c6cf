"""`turngraph session delete`: asked for first, and each session that stays is said."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ...nodes.errors import TurngraphError
from ...nodes.outcome import Outcome
from ...tools.wording import count
from ..store import SessionSummary
from .failures import Misuse
from .session import open_store
from .terminal import visible

_LONGEST_PROMPT = 60


def delete_once(wanted: Sequence[str], *, yes: bool) -> int:
    """Delete sessions, and return the exit code.

    Raises:
        TurngraphError: one of them is unknown, which deletes none; or one cannot be deleted, the others are.
    """
    with open_store() as store:
        names = {store.find_session(prefix) for prefix in wanted}
        # A fork is younger than what it shares, and must go first.
        found = sorted([one for one in store.sessions() if one.id in names], key=lambda one: one.started_at)[::-1]
        if not yes and not _agreed(found):
            print("nothing was deleted", file=sys.stderr)
            return Outcome.REFUSED.exit_code
        kept: list[TurngraphError] = []
        for session in found:
            try:
                store.delete_session(session.id)
            except TurngraphError as error:
                kept.append(error)
            else:
                print(f"deleted session {session.id} with {count(session.turns, 'turn')}", file=sys.stderr)
    for error in kept[:-1]:
        print(f"turngraph: {visible(str(error))}", file=sys.stderr)
    if kept:
        raise kept[-1]
    return 0


def _agreed(sessions: Sequence[SessionSummary]) -> bool:
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Misuse("there is no terminal to ask on whether to delete for good; give --yes")
    for session in sessions:
        prompt = " ".join((session.first_prompt or "").split())
        shown = prompt if len(prompt) <= _LONGEST_PROMPT else f"{prompt[:_LONGEST_PROMPT]}..."
        said = f" {visible(shown)}" if shown else ""
        print(f"  {session.id}  {count(session.turns, 'turn')}, last used {_day(session)}{said}", file=sys.stderr)
    print(f"Delete {count(len(sessions), 'session')} for good? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _day(session: SessionSummary) -> str:
    return f"{session.last_used_at.astimezone():%Y-%m-%d}"
