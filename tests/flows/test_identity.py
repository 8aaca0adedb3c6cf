from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python
from pydantic_graph import Edge
from turngraph import nodes
from turngraph.flows.flow import STANDARD
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import result_json
from turngraph.flows.store import Store, TurnBody, TurnHead
from turngraph.flows.store.records import EndBody
from turngraph.nodes.node import Ctx, TurnNode, go
from turngraph.nodes.outcome import TurnResult
from turngraph.nodes.state import AGENT_STATE_MACHINE, AgentState, StateMachine

from ..nodes.acting import Actor
from .stored import head, outcome_of

pytestmark = pytest.mark.anyio


class Loud(nodes.Stream):
    """The same edges, another class."""


@dataclass
class Relabelled(TurnNode):
    """The same edges, in another order and in other words."""

    role = "process_node"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("b")] | Annotated[nodes.Dispatch, Edge("a")]:
        return go(ctx, nodes.Persist)


@dataclass
class Greedy(TurnNode):
    """One edge less."""

    role = "process_node"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> nodes.Dispatch:
        return go(ctx, nodes.Dispatch)


def test_the_graph_is_the_same_where_roles_states_and_edges_are() -> None:
    same = [STANDARD.swap(Loud), STANDARD.swap(Relabelled), replace(STANDARD, name="other")]
    assert {flow.graph_hash for flow in same} == {STANDARD.graph_hash}
    machine = StateMachine(AgentState.USER_INPUT, {**AGENT_STATE_MACHINE.transitions, AgentState.RESPONSE: frozenset()})
    other = [STANDARD.swap(Greedy), replace(STANDARD, start="stream"), replace(STANDARD, machine=machine)]
    assert len({flow.graph_hash for flow in [STANDARD, *other]}) == 4


def test_a_lineup_names_each_class_and_the_hash_of_its_file() -> None:
    played = STANDARD.swap(Loud).played
    here = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    assert played["stream"].cls == f"{__name__}:Loud"
    assert here.startswith(played["stream"].source)
    assert played["stream"].source
    assert played["persist"].cls == "turngraph.nodes.persist:Persist"
    assert len({one.source for one in played.values()}) == 6


def test_a_class_without_a_file_has_no_hash() -> None:
    made: Any = type("Typed", (nodes.Stream,), {"__module__": "nowhere"})
    assert STANDARD.swap(made).played["stream"].source == ""


async def test_the_journal_and_the_result_say_what_was_run(store: Store) -> None:
    flow = STANDARD.swap(Loud)
    result = await run_turn("x", model=Actor(), flow=flow, store=store)
    assert (result.lineup, result.graph_hash) == (flow.played, flow.graph_hash)
    bodies = [record.body for record in store.journal(result.turn_id)]
    (begun,) = (body for body in bodies if isinstance(body, TurnBody))
    (ended,) = (body for body in bodies if isinstance(body, EndBody))
    assert ended.result == result
    assert begun.head.graph_hash == flow.graph_hash
    assert {role: (cls, begun.head.sources[role]) for role, cls in begun.head.lineup.items()} == {
        role: (one.cls, one.source) for role, one in flow.played.items()
    }
    document = result_json(result)
    assert document["graph_hash"] == flow.graph_hash
    assert document["lineup"]["stream"] == {"class": f"{__name__}:Loud", "source": flow.played["stream"].source}


@pytest.mark.parametrize("value", [head("s"), outcome_of(head("s"))], ids=["head", "result"])
def test_a_row_of_a_version_without_them_still_loads(value: TurnHead | TurnResult) -> None:
    old = to_jsonable_python(value)
    for new in ("lineup", "sources", "graph_hash") if isinstance(value, TurnResult) else ("sources", "graph_hash"):
        old.pop(new, None)
    loaded = TypeAdapter(type(value)).validate_python(old)
    assert loaded == value
    assert loaded.graph_hash == ""
