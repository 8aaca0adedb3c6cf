"""Sessions: found by a prefix, owned by one process at a time, listed and shown."""

from __future__ import annotations

import json
import os
import pty
import signal
import stat
import sys
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from ..scripted.harness import PATIENCE, Workbench, finish, outline
from ..scripted.replies import Hang, call, calls, say
from ..scripted.server import ScriptedServer
from .test_question import ON_A_TERMINAL

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


def test_a_session_in_use_is_not_deleted_or_branched_and_takes_messages(
    bench: Workbench, server: ScriptedServer
) -> None:
    """What comes from outside while a turn runs comes after what the turn says (the specification's step 9)."""
    server.add(say("first"), Hang(say("slow"), after=2))
    first = bench.turn("one", server).document
    session, turn = first["session_id"], first["turn_id"]
    with bench.start(*bench.command("two", server, "--continue")) as process:
        assert server.hanging.wait(PATIENCE)
        for command in (["delete", session, "--yes"], ["branch", session, "--at", turn]):
            refused = bench.run("session", *command)
            assert refused.code == 7
            assert f"process {process.pid}" in refused.complaints[0]
        assert bench.run("session", "add", session, "-", stdin="the build failed\n").code == 0
        fork = bench.run("session", "fork", session).stdout.strip()
        process.send_signal(signal.SIGINT)
        assert finish(process).code == 130
    said = outline(bench.history(session))
    assert [said[0], said[1], said[2], said[-1]] == [
        "user: one",
        "text: first",
        "user: two",
        "user: the build failed\n",
    ]
    assert outline(bench.history(fork)) == ["user: one", "text: first", "user: the build failed\n"]
    server.add(say("third"))
    assert bench.turn("three", server, "--session", session).code == 0
    assert server.last.roles == ["user", "assistant", "user"]


def test_fork_and_branch(bench: Workbench, server: ScriptedServer) -> None:
    server.add(say("one."), say("two."), say("three."), say("four."))
    turns = [bench.turn("1", server).document]
    session = turns[0]["session_id"]
    turns += [bench.turn(number, server, "--session", session).document for number in ("2", "3")]

    forked = bench.run("session", "fork", session, "--at", turns[0]["turn_id"][:8])
    fork = forked.stdout.strip()
    assert outline(bench.history(fork)) == ["user: 1", "text: one."]
    bench.turn("4", server, "--session", fork)
    assert outline(bench.history(fork)) == ["user: 1", "text: one.", "user: 4", "text: four."]
    assert len(bench.history(session)) == 6
    listed = json.loads(bench.run("session", "list", "--output", "json").stdout)["sessions"]
    assert [(one["id"], one["forked_from"], one["tokens"]) for one in listed] == [
        (fork, session, 110),
        (session, None, 110),
    ]
    assert "1 turn of the session that this one was forked from" in bench.run("session", "show", fork).stdout

    back = bench.run("session", "branch", session, "--at", turns[1]["turn_id"])
    assert (back.code, back.stdout) == (0, "")
    assert f"session branch {session} --at {turns[2]['turn_id']}" in back.stderr
    assert outline(bench.history(session))[-1] == "text: two."
    assert turns[2]["turn_id"][:8] in bench.run("session", "show", session).stdout
    assert bench.run("session", "branch", session, "--at", turns[2]["turn_id"]).code == 0
    assert outline(bench.history(session))[-1] == "text: three."

    for wanted, code, words in [("ffff", 2, "no turn begins"), (turns[1]["turn_id"], 2, f"no turn of session {fork}")]:
        wrong = bench.run("session", "branch", fork, "--at", wanted)
        assert (wrong.code, words in wrong.complaints[0]) == (code, True)


def test_deleting(bench: Workbench, server: ScriptedServer) -> None:
    server.add(say("a secret word"), say("b"))
    session = bench.turn("the first prompt", server).document["session_id"]
    other = bench.turn("another", server).document["session_id"]
    fork = bench.run("session", "fork", session).stdout.strip()

    asked = bench.run("session", "delete", session)
    assert (asked.code, "--yes" in asked.complaints[0]) == (2, True)
    unknown = bench.run("session", "delete", other, "ffff", "--yes")
    assert (unknown.code, "session list" in unknown.complaints[0]) == (2, True)
    shared = bench.run("session", "delete", session, other, "--yes")
    assert (shared.code, fork in shared.complaints[0]) == (1, True)
    assert "deleted session" in shared.stderr

    left = bench.run("session", "delete", session, fork, "--yes")
    assert (left.code, left.stdout) == (0, "")
    assert json.loads(bench.run("session", "list", "--output", "json").stdout)["sessions"] == []
    stored = b"".join(path.read_bytes() for path in bench.store_path.parent.iterdir() if path.is_file())
    assert b"a secret word" not in stored
    assert b"the first prompt" not in stored


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("\n", 5), ("no\n", 5)])
def test_deleting_asks_on_a_terminal(answer: str, code: int, bench: Workbench, server: ScriptedServer) -> None:
    server.add(say("a"))
    session = bench.turn("the first prompt", server).document["session_id"]
    ours, theirs = pty.openpty()
    try:
        wrapper = [sys.executable, "-c", ON_A_TERMINAL]
        command = ("session", "delete", session)
        with bench.start(*command, wrapper=wrapper, stdin=theirs, stderr=theirs) as process:
            os.close(theirs)
            shown = b""
            while b"[y/N]" not in shown:
                shown += os.read(ours, 65536)
            os.write(ours, answer.encode())
            assert finish(process).code == code
    finally:
        os.close(ours)
    assert b"the first prompt" in shown
    left = json.loads(bench.run("session", "list", "--output", "json").stdout)["sessions"]
    assert [one["id"] for one in left] == ([] if code == 0 else [session])


def test_export(bench: Workbench, server: ScriptedServer, tmp_path: Path) -> None:
    """Both forms hold the history and no secret of the environment, in a file that nobody else may read."""
    bench.write("a.txt", "one\n")
    server.add(calls(call("read_file", path="a.txt")), say("It says one."))
    session = bench.turn("my token is sesame-sesame", server).document["session_id"]
    secret = {"MY_TOKEN": "sesame-sesame"}
    printed = bench.run("session", "export", session[:6], env=secret)
    document = json.loads(printed.stdout)
    assert (document["schema"], document["session"]["id"]) == ("turngraph.session/1", session)
    assert outline(ModelMessagesTypeAdapter.validate_python(document["messages"])) == [
        "user: my token is [redacted MY_TOKEN]",
        "call: read_file",
        "result: read_file success",
        "text: It says one.",
    ]
    (noted,) = printed.stderr.splitlines()
    assert "secret" in noted

    target = tmp_path / "talk.md"
    target.touch(mode=0o644)
    done = bench.run("session", "export", session, "--format", "markdown", "-o", str(target), env=secret)
    assert (done.code, done.stdout) == (0, "")
    text = target.read_text()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    order = ["# Session", "[redacted MY_TOKEN]", "### Call `read_file`", "### Result of `read_file`", "It says one."]
    assert sorted(order, key=text.index) == order
    assert "sesame" not in text + printed.stdout

    full = bench.run("session", "export", session, "-o", "/dev/full")
    assert (full.code, len(full.complaints)) == (1, 1)
    nowhere = bench.run("session", "export", session, "-o", str(tmp_path / "none" / "x"))
    assert (nowhere.code, len(nowhere.complaints)) == (2, 1)


def test_a_bundle_goes_on_elsewhere(bench: Workbench, server: ScriptedServer, tmp_path: Path) -> None:
    """With its journals, also that of the session it was forked from, and without secrets; torn, all but the torn."""
    bench.write("a.txt", "one\n")
    server.add(calls(call("read_file", path="a.txt")), say("It says one."), say("Bye."), say("Still here."))
    first = bench.turn("my token is sesame-sesame", server).document
    fork = bench.run("session", "fork", first["session_id"]).stdout.strip()
    second = bench.turn("bye", server, "--session", fork).document
    target = tmp_path / "talk.jsonl"
    secret = {"MY_TOKEN": "sesame-sesame"}
    done = bench.run("session", "export", fork, "--format", "bundle", "-o", str(target), env=secret)
    assert (done.code, done.stdout, "left out" in done.stderr) == (0, "", True)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert b"sesame" not in target.read_bytes()

    (tmp_path / "elsewhere").mkdir()
    other = Workbench(tmp_path / "elsewhere")
    taken = other.run("session", "import", str(target))
    assert (taken.code, taken.stdout.strip(), taken.complaints) == (0, fork, [])
    expected = outline(bench.history(fork))
    expected[0] = "user: my token is [redacted MY_TOKEN]"
    assert outline(other.history(fork)) == expected
    for turn in (first["turn_id"], second["turn_id"]):
        shown = json.loads(other.run("turn", "show", turn, "--output", "json").stdout)
        original = json.loads(bench.run("turn", "show", turn, "--output", "json").stdout)
        assert [visit["role"] for visit in shown["visits"]] == [visit["role"] for visit in original["visits"]]
    assert other.turn("are you there?", server, "--session", fork).document["answer"] == "Still here."
    assert server.last.roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "user"]

    again = other.run("session", "import", "-", stdin=target.read_text()[:-60])
    assert again.code == 0
    assert again.stdout.strip() not in ("", fork)
    assert "1 row" in again.complaints[0]
    for wrong in (bench.settings, tmp_path / "nowhere", tmp_path):
        refused = other.run("session", "import", str(wrong))
        assert (refused.code, len(refused.complaints), refused.stdout) == (2, 1, "")
