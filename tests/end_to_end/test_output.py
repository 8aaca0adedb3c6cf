"""stdout carries the answer (or JSON) and nothing else, whoever reads it; stderr carries the rest."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from ..scripted.harness import Workbench, finish
from ..scripted.replies import Reply, call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end

LOOK = calls(call("list_dir"), text="First I look.")
ESCAPE = "\x1b"


def test_text(bench: Workbench, server: ScriptedServer) -> None:
    """Remarks before calls are not the answer; the line about a call and the summary are on stderr."""
    server.add(LOOK, Reply("It is *empty*.", reasoning="Hm."))
    done = bench.turn("what is here?", server, "--output", "text")
    assert (done.code, done.stdout) == (0, "It is *empty*.\n")
    assert "list_dir" in done.stderr
    assert "completed" in done.stderr
    assert ESCAPE not in done.stderr
    server.add(LOOK, say("It is empty."))
    quiet = bench.turn("what is here?", server, "--output", "text", "--quiet")
    assert (quiet.code, quiet.stdout, quiet.stderr) == (0, "It is empty.\n", "")


def test_json_is_one_document_even_with_debugging(bench: Workbench, server: ScriptedServer) -> None:
    server.add(LOOK, say("It is empty."))
    done = bench.turn("what is here?", server, "--debug")
    assert (done.code, done.document["answer"]) == (0, "It is empty.")
    assert "list_dir" in done.stderr


def test_jsonl_is_one_event_a_line(bench: Workbench, server: ScriptedServer) -> None:
    server.add(LOOK, say("It is empty."))
    done = bench.turn("what is here?", server, "--output", "jsonl")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {event["schema"] for event in events} == {"turngraph.event/1"}
    kinds = [event["type"] for event in events]
    assert kinds[0] == "turn_started"
    assert kinds[-1] == "turn_ended"
    assert [event["role"] for event in events if event["type"] == "node_entered"] == bench.visits()
    assert "".join(e["text"] for e in events if e["type"] == "text_delta") == "First I look.It is empty."
    assert events[-1]["result"]["answer"] == "It is empty."


def test_head_takes_one_line_and_the_turn_is_saved(bench: Workbench, server: ScriptedServer) -> None:
    """The pipe is closed early: no traceback, no lost turn (T9-01)."""
    server.add(calls(*[call("list_dir")] * 8), LOOK, say("line\n" * 5000))
    reading, writing = os.pipe()
    command = bench.command("look", server, "--output", "jsonl")
    with (
        subprocess.Popen(["head", "-n", "1"], stdin=reading, stdout=subprocess.PIPE) as head,
        bench.start(*command, stdout=writing) as process,
    ):
        os.close(reading)
        os.close(writing)
        (line, _), done = head.communicate(), finish(process)
    assert json.loads(line)["type"] == "turn_started"
    assert (done.code, done.stderr.count("BrokenPipe")) == (0, 0)
    (end,) = bench.log("end")
    assert end["outcome"] == "completed"


def test_prompts_from_stdin(bench: Workbench, server: ScriptedServer) -> None:
    server.add(say("one"), say("two"))
    assert bench.turn("-", server, stdin="first\nsecond\n").document["answer"] == "one"
    assert "first\nsecond" in server.last.prompts[0]
    without = [word for word in bench.command("-", server) if word != "-"]
    assert bench.run(*without, stdin="piped").document["answer"] == "two"
    assert "piped" in server.last.prompts[0]
    empty = bench.turn("-", server, stdin=" \n")
    assert (empty.code, empty.document["outcome"]) == (2, "usage_error")


def test_hostile_text_in_a_narrow_encoding(bench: Workbench, server: ScriptedServer) -> None:
    """Terminal controls are not passed on, whoever sent them; what ASCII lacks is no crash (T9-08, T9-11)."""
    hostile = "\x1b]0;owned\x07\x1b[2J [bold]x[/bold] \u2588 \U0001f600 done"
    bench.write("evil\x1b[31m.txt", "x")
    server.add(
        calls(call("bash", command="printf '\\033[31mred\\033[0m \\377'")),
        calls(call("list_dir")),
        say(hostile),
    )
    done = bench.turn("look", server, "--output", "text", env={"PYTHONIOENCODING": "ascii"})
    assert done.code == 0, done.stderr
    assert ESCAPE not in done.stdout + done.stderr
    assert "[bold]x[/bold]" in done.stdout
    assert "done" in done.stdout
    assert server.last.results[0].count("red") == 1
    assert ESCAPE not in server.last.results[0]
