"""`--dry-run` and `--explain-context`: a request is looked at; nothing is asked and nothing stored."""

from __future__ import annotations

import json

import pytest

from ..scripted.harness import Workbench
from ..scripted.replies import Reply, call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end


def test_nothing_is_asked_and_nothing_stored(bench: Workbench, server: ScriptedServer) -> None:
    done = bench.turn("look around", server, "--dry-run", "--max-tokens", "50")
    assert (done.code, done.stderr) == (0, "")
    document = done.document
    assert document["schema"] == "turngraph.request/1"
    assert document["model"] == "openai:scripted"
    assert document["settings"] == {"max_tokens": 50}
    assert {"bash", "read_file"} <= {tool["name"] for tool in document["tools"]}
    assert str(bench.workspace) in document["instructions"]
    (message,) = document["messages"]
    assert message["parts"][0]["content"].endswith("look around")
    assert server.requests == []
    assert not bench.store_path.exists()


def test_the_request_that_then_is_made(bench: Workbench, server: ScriptedServer) -> None:
    server.add(calls(call("list_dir")), say("Nothing."))
    session = bench.turn("look", server).document["session_id"]
    before = bench.run("turn", "list", "--output", "json").document
    seen = bench.turn("and now?", server, "--continue", "--dry-run").document
    forked = bench.turn("and now?", server, "--fork", session, "--dry-run").document
    assert len(forked["messages"]) == len(seen["messages"])
    assert bench.run("turn", "list", "--output", "json").document == before
    server.add(say("Still nothing."))
    assert bench.turn("and now?", server, "--continue").code == 0
    parts = [part for message in seen["messages"] for part in message["parts"]]
    assert [part["part_kind"] for part in parts] == [
        "user-prompt",
        "tool-call",
        "tool-return",
        "text",
        "user-prompt",
    ]
    assert server.last.roles == ["user", "assistant", "tool", "assistant", "user"]
    assert server.last.body["messages"][0]["content"] == seen["instructions"]


def test_why_each_message_is_sent(bench: Workbench, server: ScriptedServer) -> None:
    server.add(calls(call("list_dir")), say("Nothing."))
    bench.turn("look", server)
    done = bench.turn("again", server, "--continue", "--explain-context", "--output", "text")
    assert done.code == 0
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["MESSAGE", "KIND", "TOKENS", "VERDICT", "WHAT", "WHY"]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "4", "new"]
    document = bench.turn("again", server, "--continue", "--explain-context").document
    assert document["schema"] == "turngraph.context/1"
    assert [one["verdict"] for one in document["messages"]] == ["kept"] * 5
    both = bench.turn("again", server, "--continue", "--explain-context", "--dry-run")
    assert json.loads(both.stdout)["schema"] == "turngraph.request/1"
    assert "VERDICT" in both.stderr
    assert len(server.requests) == 2


def test_a_summary_is_said_and_not_made(bench: Workbench, server: ScriptedServer) -> None:
    server.add(*[Reply("word " * 1_000, usage=(14_000, 1_000)) for _ in range(6)])
    for _ in range(6):
        assert bench.turn("tell me " + "more " * 1_000, server, *(["--continue"] if server.requests else [])).code == 0
    done = bench.turn("and?", server, "--continue", "--dry-run", "--context-window", "12000")
    assert done.code == 0
    assert "asked for a summary" in done.stderr
    assert len(done.document["messages"]) == 13
    assert len(server.requests) == 6


def test_a_session_begun_with_the_history_of_another(bench: Workbench, server: ScriptedServer) -> None:
    server.add(say("One."), say("Two."), say("Three."))
    first = bench.turn("a", server).document["session_id"]
    second = bench.turn("b", server, "--fork", first[:6]).document["session_id"]
    assert first != second
    assert server.last.roles == ["user", "assistant", "user"]
    assert bench.turn("c", server, "--session", first).code == 0
    assert server.last.roles == ["user", "assistant", "user"]
    assert len(bench.history(second)) == 4


def test_recorded_replies_cost_nothing(bench: Workbench, server: ScriptedServer) -> None:
    cache = bench.root / "replies.jsonl"
    server.add(say("One."))
    assert bench.turn("a", server, "--model-cache", "record", str(cache)).document["answer"] == "One."
    assert bench.turn("a", server, "--model-cache", "strict", str(cache)).document["answer"] == "One."
    missing = bench.turn("b", server, "--model-cache", "strict", str(cache))
    assert (missing.code, missing.document["outcome"]) == (3, "provider_failure")
    wrong = bench.turn("a", server, "--model-cache", "often", str(cache))
    assert (wrong.code, "record, replay or strict" in wrong.stderr) == (2, True)
