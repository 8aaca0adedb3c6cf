"""What a reply cost."""

from __future__ import annotations

from decimal import Decimal

from pydantic_ai.messages import ModelResponse

from .state import TurnState


def count_usage(state: TurnState, reply: ModelResponse) -> None:
    """Add a reply to what the turn has used; without a known price of one reply, that of the turn is unknown."""
    state.usage.requests += 1
    state.usage.incr(reply.usage)
    cost = cost_of(reply)
    state.cost = None if cost is None or state.cost is None else state.cost + cost


def cost_of(reply: ModelResponse) -> Decimal | None:
    """The price of one reply in US dollars, after the `genai-prices` data; `None` without a known model and usage."""
    if reply.model_name is None or not reply.usage.has_values():
        return None
    try:
        return reply.cost().total_price
    except (LookupError, ValueError):
        return None
