"""The workspace's files along a turn: kept where they may have changed, for forks."""

from __future__ import annotations

from pathlib import Path

from ..nodes.events import Notice, Sink
from ..nodes.state import TurnState
from ..tools.effects import Effect
from .store import TurnWriter
from .trees import TreeError, Trees


class Keeper:
    """Records a git workspace at the turn's beginning, and again after each iteration's calls that may change it.

    A snapshot that fails is said once and ends the keeping; the turn goes on.
    """

    def __init__(self, trees: Trees, workdir: Path, log: TurnWriter, sink: Sink) -> None:
        self._trees = trees
        self._workdir = workdir
        self._log = log
        self._sink = sink
        self._kept: str | None = None
        self._acted = 0
        self._keeping = True

    async def look(self, state: TurnState) -> None:
        """Record the files if they were not recorded yet, or calls ran since that may have changed them."""
        slots = state.session.tool_registry.slots
        acted = sum(slot.started and slot.effect is not Effect.READ_ONLY for slot in slots)
        if self._keeping and (self._kept is None or acted > self._acted):
            await self._record()
        self._acted = acted

    async def _record(self) -> None:
        try:
            commit = await self._trees.snapshot(self._workdir)
        except TreeError as error:
            self._keeping = False
            await self._sink.emit(Notice("warning", f"{error}; a fork of this turn cannot restore them"))
            return
        self._keeping = commit is not None
        if commit is not None and commit != self._kept:
            self._log.tree(commit)
            self._kept = commit
