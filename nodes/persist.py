"""The node every iteration passes: seal it, check the budgets, and decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic_graph import Edge, End

from .. import nodes
from .commit import commit
from .deps import Limits
from .node import Ctx, TurnNode, go
from .outcome import Outcome, TurnResult
from .state import AgentState, TurnState

UNUSABLE_IN_A_ROW = 3


@dataclass
class Persist(TurnNode):
    """Seal the iteration, then go on or end the turn."""

    role = "persist"
    state = AgentState.RESPONSE

    async def run(self, ctx: Ctx) -> Annotated[nodes.Stream, Edge("go on")] | Annotated[End[TurnResult], Edge("done")]:
        result = await commit(ctx.state, ctx.deps, *verdict(ctx.state, ctx.deps.limits))
        return go(ctx, nodes.Stream) if result is None else End(result)


def verdict(state: TurnState, limits: Limits) -> tuple[Outcome | None, str | None]:
    """How the turn ends here, and why in a sentence; `(None, None)` goes on."""
    if state.task_completed and state.refused:
        return (
            Outcome.REFUSED,
            "a call of the last iteration with calls was refused, so the work may not be done",
        )
    if state.task_completed:
        return Outcome.COMPLETED, None
    if state.unusable_replies >= UNUSABLE_IN_A_ROW:
        what = "cut off" if state.answer else "empty"
        return (
            Outcome.NO_ANSWER,
            f"the model gave no usable answer: {state.unusable_replies} replies in a row, the last {what}",
        )
    if (spent := spent_budget(state, limits)) is not None:
        return Outcome.BUDGET_EXHAUSTED, f"{spent}; what was done is saved, and --continue goes on from here"
    return None, None


def spent_budget(state: TurnState, limits: Limits) -> str | None:
    """Which budget leaves no room for another model request, in words."""
    if state.iteration >= state.request.max_iterations:
        return f"the limit of {state.request.max_iterations} model requests was reached"
    if limits.max_total_tokens is not None and state.usage.total_tokens >= limits.max_total_tokens:
        return f"the limit of {limits.max_total_tokens} tokens was reached"
    if limits.max_cost is not None and state.cost is not None and state.cost >= limits.max_cost:
        return f"the limit of {limits.max_cost} dollars was reached"
    return None
