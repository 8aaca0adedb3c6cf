"""An overlay's figures are the journal's."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.toolsets import AbstractToolset
from turngraph.flows.flow import STANDARD
from turngraph.flows.runner import run_turn
from turngraph.flows.runs import choose_turns, read_runs, run_of
from turngraph.flows.store import Store, VisitBody
from turngraph.graphs.extract import extract
from turngraph.graphs.overlay import overlay
from turngraph.nodes.errors import UnknownSession, UsageError
from turngraph.nodes.node import TurnNode
from turngraph.nodes.outcome import TurnResult
from turngraph.nodes.variants.best_of import best_of
from turngraph.nodes.variants.cascade import cascade
from turngraph.nodes.variants.critic import Critic

from ..nodes.acting import Actor, call, reading

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> int:
    return n


TOOLS: list[AbstractToolset[Any]] = [reading(look)]
IN_TEXT = '<tool_call>{"name": "look", "arguments": {"n": 1}}</tool_call>'


async def turn(store: Store, *replies: Any, session: str | None = None) -> TurnResult:
    return await run_turn("go", model=Actor(*replies), toolsets=TOOLS, store=store, session=session)


async def test_the_figures_of_turns_are_those_of_their_journals_and_results(store: Store) -> None:
    results = [
        await turn(store, [call("look", n=1), call("look", 2, n=2)], [IN_TEXT], ["Done."]),
        await turn(store, [RuntimeError("gone")]),
    ]
    runs, notes = read_runs(store, [result.turn_id for result in results])
    assert notes == []
    graph = overlay(extract(STANDARD), runs)
    bodies = [record.body for result in results for record in store.journal(result.turn_id)]
    visits = [body.visit for body in bodies if isinstance(body, VisitBody)]
    for role in STANDARD.lineup:
        figures = graph.nodes[role]["figures"]
        own = [visit for visit in visits if visit.role == role]
        assert (figures.visits, figures.total_ms) == (len(own), pytest.approx(sum(visit.duration_ms for visit in own)))
        assert figures.errors == sum(visit.error is not None for visit in own)
    for source, target, edge in graph.edges(data=True):
        count = sum((visit.role, visit.to) == (source, target) for visit in visits)
        assert edge["figures"].count == (count if source != "start" else 2)
    stream, totals = graph.nodes["stream"]["figures"], graph.graph["totals"]
    assert stream.requests == sum(result.usage.requests for result in results) == 3
    assert stream.input_tokens == sum(result.usage.input_tokens for result in results) > 0
    assert stream.output_tokens == sum(result.usage.output_tokens for result in results) > 0
    assert (totals.turns, totals.visits, totals.failed, totals.cost) == (2, len(visits), 1, None)
    assert totals.output_tokens == stream.output_tokens
    assert graph.graph["notes"] == ()


@pytest.mark.parametrize(
    ("variant", "replies", "asked"),
    [
        (best_of(3), [["Done."]] * 3, {"stream": 3}),
        (Critic, [["Done."], ["Too short."], ["All is done."]], {"stream": 2, "process_node": 1}),
        (cascade(Actor([""])), [["Done."]], {"stream": 2}),
    ],
    ids=["best of three", "critic", "cascade"],
)
async def test_a_reply_that_was_not_used_was_spent_too(
    store: Store, variant: type[TurnNode], replies: list[Any], asked: dict[str, int]
) -> None:
    flow = STANDARD.swap(variant)
    result = await run_turn("go", model=Actor(*replies), flow=flow, store=store)
    (run,), _ = read_runs(store, [result.turn_id])
    assert Counter(spend.role for spend in run.spends) == asked
    assert sum(asked.values()) == result.usage.requests
    assert sum(spend.input_tokens for spend in run.spends) == result.usage.input_tokens
    assert sum(spend.output_tokens for spend in run.spends) == result.usage.output_tokens


async def test_what_cannot_be_read_of_a_journal_is_counted(store_path: Path) -> None:
    with Store.open(store_path) as store:
        result = await turn(store, ["Done."])
        rows = len(store.journal(result.turn_id))
    with closing(sqlite3.connect(store_path)) as damaging:
        for (trigger,) in damaging.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            damaging.execute(f"DROP TRIGGER {trigger}")
        damaging.execute("UPDATE log SET facts = '{}' WHERE kind = 'visit'")
        damaging.commit()
    with Store.open(store_path) as store:
        runs, notes = read_runs(store, [result.turn_id])
        assert runs == [run_of(result.turn_id, store.journal(result.turn_id))]
    assert runs[0].visits == ()
    assert notes == [f"4 of {rows} rows of turn {result.turn_id} cannot be read and are not drawn"]


async def test_turns_are_chosen_by_id_by_session_or_as_the_last_ones(store: Store) -> None:
    first = await turn(store, ["1"])
    second = await turn(store, ["2"])
    third = await turn(store, ["3"], session=first.session_id)
    ids = [one.turn_id for one in (first, second, third)]
    assert choose_turns(store, [ids[1][:12], ids[0], ids[0]], None, None) == [ids[1], ids[0]]
    assert choose_turns(store, [], first.session_id[:6], None) == [ids[0], ids[2]]
    assert choose_turns(store, [], first.session_id, 1) == [ids[2]]
    assert choose_turns(store, [], None, 2) == ids[1:]
    assert choose_turns(store, [], None, 20) == ids
    assert choose_turns(store, [], None, None) == [ids[2]]
    with pytest.raises(UnknownSession):
        choose_turns(store, [], "ffff", None)
    with pytest.raises(UsageError, match="no turn begins with 0000"):
        choose_turns(store, ["0000"], None, None)
    with pytest.raises(UsageError, match="'x' is no id of a turn"):
        choose_turns(store, ["x"], None, None)


async def test_a_store_without_turns_has_none_to_draw(store: Store) -> None:
    with pytest.raises(UsageError, match="there are no turns to draw yet; turngraph run begins one"):
        choose_turns(store, [], None, 5)
