"""Ending a running turn from outside: a signal handler, a key, another task, or its time limit."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import anyio

from ..nodes.outcome import Outcome

_SENTENCES = {
    Outcome.INTERRUPTED: "interrupted; finished iterations are saved",
    Outcome.TERMINATED: "terminated; finished iterations are saved",
}


class Interrupt:
    """A switch for one turn. Once fired, the turn stops where it is, seals what is whole, and returns."""

    def __init__(self) -> None:
        self._scope: anyio.CancelScope | None = None
        self._outcome: Outcome | None = None

    def fire(self, outcome: Outcome = Outcome.INTERRUPTED) -> None:
        """Stop the turn, or one that has not begun yet; the first call's outcome counts."""
        self._outcome = self._outcome or outcome
        if self._scope is not None:
            self._scope.cancel()

    @contextmanager
    def scope(self, timeout: float | None) -> Generator[anyio.CancelScope]:
        """What runs inside can be stopped by `fire` and is stopped after `timeout` seconds."""
        with anyio.CancelScope() as scope:
            self._scope = scope
            if timeout is not None:
                scope.deadline = anyio.current_time() + timeout
            if self._outcome is not None:
                scope.cancel()
            yield scope

    def reason(self, timeout: float | None) -> tuple[Outcome, str]:
        """How the turn ended when the scope was left early, and why."""
        if self._outcome is None:
            return Outcome.BUDGET_EXHAUSTED, f"the time limit of {timeout:g} seconds was reached"
        return self._outcome, _SENTENCES.get(self._outcome, str(self._outcome))
