"""Budgets: where a turn stops, and how it goes on."""

from __future__ import annotations

import pytest

from ..scripted.harness import Workbench, outline
from ..scripted.replies import Hang, call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end

LOOK = calls(call("list_dir"), text="I look.")


def test_iteration_limit_to_the_request(bench: Workbench, server: ScriptedServer) -> None:
    """With a limit of 3, work of 2 and of 3 requests completes; work of 4 stops after the third (T8-16)."""
    server.add(LOOK, say("two"))
    assert bench.turn("work", server, "--max-iterations", "3").document["answer"] == "two"
    server.add(LOOK, LOOK, say("three"))
    exact = bench.turn("work", server, "--max-iterations", "3")
    assert (exact.code, exact.document["answer"], exact.document["iterations"]) == (0, "three", 3)
    server.add(LOOK, LOOK, LOOK)
    over = bench.turn("work", server, "--max-iterations", "3")
    document = over.document
    assert (over.code, document["outcome"], document["iterations"]) == (4, "budget_exhausted", 3)
    assert document["answer"] == ""
    assert "3" in document["error"]["message"]
    assert bench.visits(document["turn_id"])[-2:] == ["execute", "persist"]

    server.add(say("Done now."))
    more = bench.turn("go on", server, "--continue", "--max-iterations", "1")
    assert (more.code, more.document["iterations"]) == (0, 1)
    assert server.last.roles == ["user", *["assistant", "tool"] * 3, "user"]
    assert outline(bench.history(document["session_id"]))[-2:] == ["user: go on", "text: Done now."]


def test_token_limit_of_the_turn(bench: Workbench, server: ScriptedServer) -> None:
    server.add(LOOK, LOOK)
    done = bench.turn("work", server, "--max-total-tokens", "220")
    assert (done.code, done.document["iterations"]) == (4, 2)
    assert "220" in done.document["error"]["message"]


def test_time_limit_ends_a_hanging_request(bench: Workbench, server: ScriptedServer) -> None:
    server.add(LOOK, Hang(say("never said"), after=2))
    done = bench.turn("work", server, "--timeout", "4")
    assert (done.code, done.document["outcome"]) == (4, "budget_exhausted")
    history = outline(bench.history(done.document["session_id"]))
    assert history == ["user: work", "text: I look.", "call: list_dir", "result: list_dir success", "cut off"]
