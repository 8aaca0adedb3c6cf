"""Sessions: found by a prefix, owned by one process at a time, listed and shown."""

from __future__ import annotations

import json
import signal

import pytest

from ..scripted.harness import PATIENCE, Workbench, finish
from ..scripted.replies import Hang, call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end


def test_one_owner_at_a_time(bench: Workbench, server: ScriptedServer) -> None:
    """The second process is told who is at work and changes nothing; later the session is free (T6-07)."""
    server.add(Hang(say("slow"), after=2))
    with bench.start(*bench.command("one", server)) as process:
        assert server.hanging.wait(PATIENCE)
        busy = bench.turn("two", server, "--continue")
        assert (busy.code, busy.document["outcome"]) == (7, "session_busy")
        assert str(process.pid) in busy.document["error"]["message"]
        assert len(busy.complaints) == 1
        assert len(server.requests) == 1
        server.add(say("elsewhere"))
        assert bench.turn("three", server).code == 0  # another session of the same store
        process.send_signal(signal.SIGINT)
        session = finish(process).document["session_id"]
    server.add(say("free"))
    assert bench.turn("four", server, "--session", session[:6]).document["session_id"] == session


def test_list_and_show(bench: Workbench, server: ScriptedServer) -> None:
    bench.write("a.txt", "one\n")
    server.add(calls(call("read_file", path="a.txt"), text="I look."), say("It says one."), say("Bye."))
    session = bench.turn("what does a.txt say?", server).document["session_id"]
    bench.turn("good bye", server, "--session", session[:4])

    listed = bench.run("session", "list")
    assert (listed.code, session in listed.stdout, "what does a.txt say?" in listed.stdout) == (0, True, True)
    (entry,) = json.loads(bench.run("session", "list", "--output", "json").stdout)["sessions"]
    assert (entry["id"], entry["turns"], entry["last_outcome"]) == (session, 2, "completed")

    shown = bench.run("session", "show", session[:6])
    assert shown.code == 0, shown.stderr
    order = ["what does a.txt say?", "read_file", "It says one.", "good bye", "Bye."]
    assert sorted(order, key=shown.stdout.index) == order

    lines = bench.run("session", "show", "--last", "--output", "jsonl").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    assert {event["schema"] for event in events} == {"turngraph.event/1"}
    kinds = [event["type"] for event in events if event["type"] not in ("node_entered", "node_left")]
    assert [kind for kind in kinds if kind in ("turn_started", "tool_finished", "turn_ended")] == [
        "turn_started",
        "tool_finished",
        "turn_ended",
        "turn_started",
        "turn_ended",
    ]


@pytest.mark.parametrize("wanted", ["ffffffffffff", "not an id"])
def test_an_unknown_session(bench: Workbench, server: ScriptedServer, wanted: str) -> None:
    done = bench.turn("hi", server, "--session", wanted)
    assert (done.code, done.document["outcome"]) == (2, "usage_error")
    (line,) = done.complaints
    assert "session list" in line


def test_nothing_to_continue(bench: Workbench, server: ScriptedServer) -> None:
    done = bench.turn("hi", server, "--continue")
    assert (done.code, done.document["outcome"]) == (2, "usage_error")
    assert len(done.complaints) == 1
