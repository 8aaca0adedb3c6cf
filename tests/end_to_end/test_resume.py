"""`turngraph turn resume`: a turn whose process was killed goes on, with what its record knows."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from turngraph.flows.store import Store

from ..scripted.harness import PATIENCE, Finished, Workbench, outline, wait_for
from ..scripted.replies import Hang, call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end

HALF = Hang(say("I am still thinking"), after=2)
LOOK = calls(call("list_dir"))
PUSH = calls(call("bash", command="echo $$ > pid; echo pushed >> effects; sleep 300", timeout=300))

SAME = '''
from turngraph import nodes

class Mine(nodes.Stream):
    """The standard one, under another name."""
'''
OTHER = '''
from typing import Annotated
from pydantic_graph import Edge
from turngraph import nodes
from turngraph.nodes.node import Ctx

class Mine(nodes.Stream):
    """May give up at once."""
    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("a")] | Annotated[nodes.Persist, Edge("b")]:
        return await super().run(ctx)
'''


def killed(bench: Workbench, server: ScriptedServer, *options: str, prompt: str = "work") -> str:
    """A turn whose process is killed while the server is silent; its id."""
    server.hanging.clear()
    with bench.start(*bench.command(prompt, server, *options)) as process:
        assert server.hanging.wait(PATIENCE)
        process.kill()
        process.communicate()
    return newest(bench)


def newest(bench: Workbench) -> str:
    with Store.open(bench.store_path) as store:
        return store.latest_turns(1)[0]


def resume(bench: Workbench, *args: str, output: str = "json") -> Finished:
    return bench.run("turn", "resume", *args, "--output", output, wrapper=("env", "-C", str(bench.workspace)))


@contextmanager
def pushed(bench: Workbench) -> Generator[None]:
    """Wait until the command of `PUSH` ran; it does not outlive the block."""
    file = bench.workspace / "pid"
    wait_for(lambda: file.exists() and file.read_text().endswith("\n"), "the command runs")
    try:
        yield
    finally:
        os.killpg(int(file.read_text()), signal.SIGKILL)


def test_killed_in_a_request(bench: Workbench, server: ScriptedServer) -> None:
    """Model, server, policy and prompt come from the record; what was answered is not asked again."""
    server.add(LOOK, HALF)
    turn = killed(bench, server)
    server.add(say("Nothing there."))
    done = resume(bench)
    assert done.code == 0, done.stderr
    document = done.document
    assert (document["turn_id"], document["answer"], document["iterations"]) == (turn, "Nothing there.", 2)
    assert [call["name"] for call in document["tool_calls"]] == []
    assert len(server.requests) == 3
    assert server.requests[2].messages == server.requests[1].messages
    assert outline(bench.history(document["session_id"])) == [
        "user: work",
        "call: list_dir",
        "result: list_dir success",
        "text: Nothing there.",
    ]


def test_a_call_with_effects_is_not_run_again(bench: Workbench, server: ScriptedServer) -> None:
    """The model and the person are told that nobody knows how it ended (T1-04)."""
    server.add(PUSH)
    with bench.start(*bench.command("push it", server)) as process, pushed(bench):
        process.kill()
        process.communicate()
    shown = bench.run("turn", "show", "--last")
    assert "unknown bash" in shown.stdout
    assert "execute (cut off)" in shown.stdout
    server.add(say("I cannot tell."))
    done = resume(bench, newest(bench)[:8])
    assert done.code == 0, done.stderr
    assert [(call["name"], call["status"]) for call in done.document["tool_calls"]] == [("bash", "unknown")]
    assert "outcome is unknown" in server.last.results[0]
    assert "bash were under way" in done.stderr
    assert (bench.workspace / "effects").read_text() == "pushed\n"


def test_what_is_told_wins_over_the_record(bench: Workbench, server: ScriptedServer) -> None:
    server.add(HALF)
    killed(bench, server, "--policy", "auto")
    server.add(calls(call("bash", command="touch made")), say("I may not."))
    done = resume(bench, "--model", "openai:other", "--policy", "read-only", "--max-iterations", "9")
    assert (done.code, done.document["outcome"]) == (5, "refused")
    assert server.last.body["model"] == "other"
    assert not (bench.workspace / "made").exists()


def test_which_turn_it_is(bench: Workbench, server: ScriptedServer) -> None:
    """Without an id the one of this directory; of several all are named, and --last is the newest."""
    nothing = resume(bench)
    assert (nothing.code, nothing.document["outcome"]) == (2, "usage_error")
    assert "was cut off" in nothing.stderr
    server.add(HALF, HALF)
    first = killed(bench, server, prompt="one")
    second = killed(bench, server, prompt="two")
    several = resume(bench)
    assert several.code == 2
    for word in (first[:8], second[:8], "one", "two", "--last"):
        assert word in several.stderr
    assert len(several.complaints) == 1
    server.add(say("Two."), say("One."))
    assert resume(bench, "--last").document["turn_id"] == second
    assert resume(bench).document["turn_id"] == first


def test_an_ended_turn_and_one_that_runs(bench: Workbench, server: ScriptedServer) -> None:
    server.add(say("Done."))
    ended = bench.turn("hi", server).document["turn_id"]
    again = resume(bench, ended)
    assert (again.code, again.document["error"]["kind"]) == (2, "usage_error")
    assert "has ended" in again.stderr
    assert resume(bench, "abcdef").code == 2
    server.add(HALF)
    with bench.start(*bench.command("work", server)) as process:
        assert server.hanging.wait(PATIENCE)
        busy = resume(bench, newest(bench))
        listed = bench.run("turn", "list").stdout
        process.kill()
        process.communicate()
    assert (busy.code, busy.document["outcome"]) == (7, "session_busy")
    assert f"process {process.pid}" in busy.stderr
    assert f"running ({process.pid})" in listed
    assert "cut off" in bench.run("turn", "list").stdout


def test_a_later_turn_closed_it(bench: Workbench, server: ScriptedServer) -> None:
    server.add(HALF)
    turn = killed(bench, server)
    server.add(say("Hello."))
    assert bench.turn("go on", server, "--continue").code == 0
    done = resume(bench, turn)
    assert done.code == 2
    assert turn in done.stderr


def test_swaps_are_found_from_anywhere_and_a_changed_graph_is_refused(bench: Workbench, server: ScriptedServer) -> None:
    file = bench.root / "mine.py"
    file.write_text(SAME)
    server.add(HALF, HALF)
    first = killed(bench, server, "--swap", "stream=./mine.py:Mine")
    second = killed(bench, server, "--swap", "stream=./mine.py:Mine")
    server.add(say("Done."))
    done = resume(bench, first)
    assert done.code == 0, done.stderr
    assert done.document["lineup"]["stream"]["class"].endswith("mine.py:Mine")
    file.write_text(OTHER)
    refused = resume(bench, second)
    assert refused.code == 2
    assert "stream may go on to persist" in refused.stderr
    assert "--accept-graph-change" in refused.stderr
    server.add(say("Done."))
    accepted = resume(bench, second, "--accept-graph-change")
    assert accepted.code == 0, accepted.stderr


def test_a_directory_that_is_gone(bench: Workbench, server: ScriptedServer) -> None:
    server.add(HALF)
    turn = killed(bench, server)
    bench.workspace.rename(bench.root / "elsewhere")
    done = bench.run("turn", "resume", turn)
    assert done.code == 2
    assert f"{bench.workspace}, which is gone" in done.stderr


def test_every_output_of_a_run(bench: Workbench, server: ScriptedServer, tmp_path: Path) -> None:
    server.add(HALF)
    killed(bench, server)
    server.add(say("Here."))
    file = tmp_path / "answer.md"
    done = resume(bench, "-o", str(file), "--quiet", output="text")
    assert (done.code, done.stdout, done.stderr, file.read_text()) == (0, "Here.\n", "", "Here.\n")
