"""`turngraph turn replay`: a recorded turn again, offline, and where a variant departs from it."""

from __future__ import annotations

import json

import pytest

from ..scripted.harness import Workbench
from ..scripted.replies import call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end

OTHER = '''
from typing import Annotated
from pydantic_graph import Edge
from turngraph import nodes
from turngraph.nodes.node import Ctx, TurnNode, go
from turngraph.nodes.state import AgentState

class Hasty(TurnNode):
    """Takes every reply for an answer."""
    role = "process_node"
    state = AgentState.ASSISTANT
    async def run(self, ctx: Ctx) -> Annotated[nodes.Dispatch, Edge("calls")] | Annotated[nodes.Persist, Edge("done")]:
        return go(ctx, nodes.Persist)
'''
PROUD = """
from typing import Annotated
from pydantic_graph import Edge
from turngraph import nodes
from turngraph.nodes.node import Ctx

class Proud(nodes.ProcessNode):
    async def run(self, ctx: Ctx) -> Annotated[nodes.Dispatch, Edge("calls")] | Annotated[nodes.Persist, Edge("done")]:
        after = await super().run(ctx)
        ctx.state.guidance = "well done" if ctx.state.reply.tool_calls else None
        return after
"""


def test_as_recorded(bench: Workbench, server: ScriptedServer) -> None:
    server.add(calls(call("bash", command="echo once >> effects")), say("Done."))
    turn = bench.turn("work", server).document["turn_id"]
    done = bench.run("turn", "replay", turn[:6])
    assert (done.code, done.stdout, done.stderr) == (0, "9 visits replayed, all as recorded\n", "")
    document = bench.run("turn", "replay", turn, "--output", "json").document
    assert document == {
        "schema": "turngraph.replay/1",
        "turn_id": turn,
        "visits": 9,
        "recorded": 9,
        "departure": None,
    }
    assert len(server.requests) == 2
    assert (bench.workspace / "effects").read_text() == "once\n"


def test_the_first_departure_is_named_with_both_sides(bench: Workbench, server: ScriptedServer) -> None:
    (bench.root / "other.py").write_text(OTHER)
    server.add(calls(call("list_dir")), say("Done."))
    turn = bench.turn("work", server).document["turn_id"]
    swap = ("--swap", "process_node=./other.py:Hasty")
    done = bench.run("turn", "replay", turn, *swap)
    assert (done.code, done.stderr) == (1, "")
    first, second, recorded, replayed = done.stdout.splitlines()
    assert first == "2 of 9 visits replayed as recorded"
    assert second.startswith("visit 3 (process_node) departs")
    assert "process_node -> dispatch" in recorded
    assert "process_node -> persist" in replayed
    departure = json.loads(bench.run("turn", "replay", turn, *swap, "--output", "json").stdout)["departure"]
    assert (departure["visit"], departure["what"]) == (3, "transition")


def test_the_recorded_swaps_play_unless_others_are_told(bench: Workbench, server: ScriptedServer) -> None:
    (bench.root / "other.py").write_text(PROUD)
    server.add(calls(call("list_dir")), say("Done."))
    turn = bench.turn("work", server, "--swap", "process_node=./other.py:Proud").document["turn_id"]
    assert bench.run("turn", "replay", turn).code == 0
    told = bench.run("turn", "replay", turn, "--flow", "standard")
    assert (told.code, "guidance = 'well done'" in told.stdout) == (1, True), told.stdout


def test_what_cannot_be_replayed(bench: Workbench, server: ScriptedServer) -> None:
    assert bench.run("turn", "replay", "abcdef").code == 2
    server.add(say("Done."))
    turn = bench.turn("work", server).document["turn_id"]
    wrong = bench.run("turn", "replay", turn, "--swap", "execute=nobody")
    assert (wrong.code, len(wrong.complaints)) == (2, 1)
