"""What the store keeps of how a turn was set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from .equipment import Equipment
from .flow import Flow
from .store import TurnHead


def heading(
    flow: Flow, equipment: Equipment, turn_id: str, session: str, *, workdir: str, asked: Mapping[str, Any]
) -> TurnHead:
    """The head of a new turn."""
    limits = {
        name: str(value) if isinstance(value, Decimal) else value
        for name, value in asdict(equipment.limits).items()
        if value is not None
    }
    if (window := equipment.port.context_window) is not None:
        limits["context_window"] = window  # as it was known of the model then
    return TurnHead(
        turn_id=turn_id,
        session_id=session,
        request_id=turn_id[:8],
        flow=flow.name,
        lineup={role: played.cls for role, played in flow.played.items()},
        sources={role: played.source for role, played in flow.played.items()},
        graph=flow.shape,
        graph_hash=flow.graph_hash,
        model=equipment.port.name,
        policy=type(equipment.policy).__name__,
        workdir=workdir,
        instructions=equipment.port.instructions,
        limits=limits,
        asked=asked,
    )
