"""Sessions as a table that fits the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from ..store import SessionSummary
from .columns import Column, print_columns
from .terminal import visible


def print_sessions(sessions: Sequence[SessionSummary], stream: TextIO) -> None:
    """Write the table, one line a session. What a session is known by stands before where it was."""
    columns = [
        Column("SESSION", [one.id for one in sessions]),
        Column("LAST USED", [f"{one.last_used_at.astimezone():%Y-%m-%d %H:%M}" for one in sessions]),
        Column("TURNS", [str(one.turns) for one in sessions]),
        Column("LAST", [_outcome(one) for one in sessions]),
        Column("TOKENS", ["-" if one.tokens is None else f"{one.tokens:,}" for one in sessions], may_go=True),
        Column("FIRST PROMPT", [_prompt(one) for one in sessions], may_shrink=True),
        Column("DIRECTORY", [visible(one.workdir) for one in sessions], may_go=True, may_shrink=True),
    ]
    if any(one.forked_from for one in sessions):
        columns.append(Column("FORK OF", [one.forked_from or "-" for one in sessions], may_go=True))
    print_columns(columns, stream)


def _outcome(session: SessionSummary) -> str:
    return "-" if session.last_outcome is None else session.last_outcome.value


def _prompt(session: SessionSummary) -> str:
    return visible(" ".join((session.first_prompt or "-").split()))
