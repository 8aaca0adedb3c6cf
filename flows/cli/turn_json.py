"""Turns as JSON documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..store import TurnBody
from ..summaries import TurnSummary
from ..told import Step


def as_json(turn: TurnSummary) -> dict[str, Any]:
    """One turn of a list."""
    return {
        "id": turn.id,
        "session": turn.session,
        "begun": turn.begun and turn.begun.isoformat(),
        "state": turn.state,
        "outcome": turn.outcome and turn.outcome.value,
        "pid": turn.pid,
        "visits": turn.visits,
        "iterations": turn.iterations,
        "cost_usd": None if turn.cost is None else str(turn.cost),
        "model": turn.model,
        "flow": turn.flow,
        "prompt": turn.prompt,
        "forked_from": turn.forked_from,
    }


def journal_json(turn: TurnSummary, body: TurnBody, steps: Sequence[Step]) -> dict[str, Any]:
    """The document of a journal."""
    head = body.head
    more = {
        "workdir": head.workdir,
        "policy": head.policy,
        "lineup": dict(head.lineup),
        "limits": dict(head.limits),
        "asked": dict(head.asked),
    }
    return {
        "schema": "turngraph.journal/1",
        "turn": {**as_json(turn), **more},
        "visits": [
            {
                "n": step.number,
                "role": step.role,
                "to": step.to,
                "iteration": step.iteration,
                "ms": step.duration_ms,
                "error": step.error,
                "changed": list(step.changed),
                "events": list(step.events),
            }
            for step in steps
        ],
    }
