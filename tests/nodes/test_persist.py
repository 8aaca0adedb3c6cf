from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_graph import End
from turngraph.nodes import Persist, Stream
from turngraph.nodes.deps import Limits
from turngraph.nodes.errors import StoreError
from turngraph.nodes.outcome import Outcome
from turngraph.nodes.persist import UNUSABLE_IN_A_ROW, verdict

from .acting import Ledger, Scene


def outcome_of(limits: Limits | None = None, *, max_iterations: int = 15, **facts: Any) -> Outcome | None:
    state = Scene(max_iterations=max_iterations).state
    tokens = facts.pop("tokens", 0)
    state.usage.input_tokens, state.usage.output_tokens = tokens // 2, tokens - tokens // 2
    for name, value in facts.items():
        setattr(state, name, value)
    outcome, error = verdict(state, limits or Limits())
    assert (error is None) == (outcome in (None, Outcome.COMPLETED))
    return outcome


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        ({}, None),
        ({"task_completed": True}, Outcome.COMPLETED),
        ({"task_completed": True, "refused": True}, Outcome.REFUSED),
        ({"refused": True}, None),
        ({"unusable_replies": UNUSABLE_IN_A_ROW - 1}, None),
        ({"unusable_replies": UNUSABLE_IN_A_ROW}, Outcome.NO_ANSWER),
        ({"iteration": 15}, Outcome.BUDGET_EXHAUSTED),
        ({"iteration": 15, "task_completed": True}, Outcome.COMPLETED),
        ({"iteration": 15, "unusable_replies": UNUSABLE_IN_A_ROW}, Outcome.NO_ANSWER),
    ],
)
def test_how_a_turn_ends(facts: dict[str, Any], outcome: Outcome | None) -> None:
    assert outcome_of(**facts) is outcome


@pytest.mark.parametrize("n", [1, 2, 15])
def test_budgets_end_the_turn_when_they_are_reached(n: int) -> None:
    end = Outcome.BUDGET_EXHAUSTED
    assert [outcome_of(max_iterations=n, iteration=used) for used in (n - 1, n, n + 1)] == [None, end, end]
    limits = Limits(max_total_tokens=n, max_cost=Decimal(n))
    assert [outcome_of(limits, tokens=used) for used in (n - 1, n, n + 1)] == [None, end, end]
    assert [outcome_of(limits, cost=Decimal(n) + Decimal(more) / 1000) for more in (-1, 0, 1)] == [None, end, end]
    assert [outcome_of(tokens=10**9, cost=Decimal(10**9))] == [None]


def test_a_cost_that_is_not_known_does_not_end_the_turn() -> None:
    assert outcome_of(Limits(max_cost=Decimal(0)), cost=None) is None
    assert outcome_of(Limits(max_cost=Decimal(0)), cost=Decimal(0)) is Outcome.BUDGET_EXHAUSTED


@given(st.fixed_dictionaries({}, optional={"refused": st.booleans(), "iteration": st.integers(0, 30)}))
def test_a_whole_answer_is_never_lost_to_a_budget(facts: dict[str, Any]) -> None:
    limits = Limits(max_total_tokens=1, max_cost=Decimal(0))
    found = outcome_of(limits, task_completed=True, tokens=9, **facts)
    assert found is (Outcome.REFUSED if facts.get("refused") else Outcome.COMPLETED)


def test_the_last_reply_says_why_there_is_no_answer() -> None:
    state = Scene().state
    state.unusable_replies = UNUSABLE_IN_A_ROW
    assert "the last empty" in str(verdict(state, Limits()))
    state.answer = "cut"
    assert "the last cut off" in str(verdict(state, Limits()))


def answered(ledger: Ledger | None = None) -> Scene:
    scene = Scene(ledger=ledger)
    scene.replied(ModelResponse(parts=[TextPart("Done.")]))
    scene.state.answer = "Done."
    return scene


@pytest.mark.anyio
async def test_it_goes_on_or_ends() -> None:
    scene = answered()
    assert isinstance(await Persist().run(scene.ctx), Stream)
    scene = answered()
    scene.state.task_completed = True
    end = await Persist().run(scene.ctx)
    assert isinstance(end, End)
    assert (end.data.outcome, end.data.answer, end.data.iterations) == (Outcome.COMPLETED, "Done.", 1)


@pytest.mark.anyio
async def test_a_store_that_fails_at_the_end_keeps_the_answer() -> None:
    scene = answered(Ledger(lambda number: number > 1))
    scene.state.task_completed = True
    end = await Persist().run(scene.ctx)
    assert isinstance(end, End)
    assert (end.data.outcome, end.data.answer, end.data.saved) == (Outcome.INTERNAL_ERROR, "Done.", False)
    assert "the disk is full" in (end.data.error or "")


@pytest.mark.anyio
async def test_a_store_that_fails_on_the_way_is_an_error() -> None:
    scene = answered(Ledger(lambda number: number > 1))
    scene.register(ToolCallPart("a", {}, "a"))
    with pytest.raises(StoreError):
        await Persist().run(scene.ctx)
