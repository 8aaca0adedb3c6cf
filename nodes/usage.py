"""What a reply cost."""

from __future__ import annotations

from decimal import Decimal

from pydantic_ai.messages import ModelResponse


def cost_of(reply: ModelResponse) -> Decimal | None:
    """The price of one reply in US dollars, after the `genai-prices` data; `None` without a known model and usage."""
    if reply.model_name is None or not reply.usage.has_values():
        return None
    try:
        return reply.cost().total_price
    except (LookupError, ValueError):
        return None
