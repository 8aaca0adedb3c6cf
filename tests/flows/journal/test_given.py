"""A node that was told something by the one before is made again as it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json, to_json
from pydantic_graph import Edge
from turngraph import nodes
from turngraph.flows.flow import STANDARD
from turngraph.flows.fork import fork_turn
from turngraph.flows.journal.given import GIVEN, given_to, made_again
from turngraph.flows.replay import replay_turn
from turngraph.flows.runner import run_turn
from turngraph.flows.store import Store
from turngraph.flows.testing.model import ScriptedModel
from turngraph.nodes.errors import UsageError
from turngraph.nodes.node import Ctx, TurnNode


@dataclass
class Told(nodes.Persist):
    why: str = ""
    counts: dict[str, int] = field(default_factory=dict[str, int])


@dataclass
class Strict(nodes.Persist):
    number: int = 0


@given(st.builds(Told, st.text(), st.dictionaries(st.text(), st.integers())))
def test_a_node_comes_back_from_json_equal(node: Told) -> None:
    kept: Any = from_json(to_json(given_to(node)))
    assert made_again(Told, kept[GIVEN]) == node


@pytest.mark.parametrize("node", [None, *(cls() for cls in STANDARD.lineup.values())])
def test_nothing_is_kept_of_a_node_that_is_told_nothing(node: TurnNode | None) -> None:
    assert given_to(node) == {}


@pytest.mark.parametrize("cls", STANDARD.lineup.values())
def test_without_anything_kept_it_is_made_plainly(cls: type[TurnNode]) -> None:
    assert isinstance(made_again(cls, None), cls)


def test_a_class_that_takes_something_else_is_named_with_what_is_wrong() -> None:
    with pytest.raises(UsageError, match=r"Strict cannot take what the node was made with \(.*number.*integer"):
        made_again(Strict, {"number": "many"})


@dataclass
class Brief(nodes.Stream):
    """Asks in the tone it is told."""

    tone: str = "plainly"

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        ctx.state.guidance = f"Answer {self.tone}."
        return await super().run(ctx)


@dataclass
class Toning(nodes.PrepareHistory):
    async def run(self, ctx: Ctx) -> Annotated[nodes.Stream, Edge("history ready")]:
        await super().run(ctx)
        return Brief(tone="in rhymes")


@pytest.mark.anyio
async def test_a_fork_at_such_a_node_is_told_the_same(store: Store) -> None:
    flow = STANDARD.swap(Brief).swap(Toning)
    result = await run_turn("go", model=ScriptedModel("So it goes."), flow=flow, store=store)
    model = ScriptedModel("So it flows.")
    await fork_turn(result.turn_id, 1, store=store, model=model, flow=flow)
    assert "Answer in rhymes." in repr(model.requests[0])
    assert (await replay_turn(store, result.turn_id, flow=flow)).departure is None
