"""Ctrl-C, SIGTERM and SIGKILL, wherever they hit: nothing finished is lost and the next turn is accepted."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..scripted.harness import PATIENCE, Workbench, finish, outline, wait_for
from ..scripted.replies import Hang, call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end

LOOKED = ["user: work", "call: list_dir", "result: list_dir success"]
HALF = Hang(say("I am still thinking about it"), after=3)
SLEEP = call("bash", command="echo $$ > pid; echo started; sleep 300; touch never", timeout=300)


@pytest.mark.parametrize(
    ("number", "code", "outcome"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
    ids=["SIGINT", "SIGTERM"],
)
def test_in_the_stream(bench: Workbench, server: ScriptedServer, number: int, code: int, outcome: str) -> None:
    """The finished iteration stays; what had arrived of the other is dropped (T1-05, T9-13)."""
    server.add(calls(call("list_dir")), HALF)
    with bench.start(*bench.command("work", server)) as process:
        assert server.hanging.wait(PATIENCE)
        process.send_signal(number)
        done = finish(process)
    document = done.document
    assert (done.code, document["outcome"], document["exit_code"]) == (code, outcome, code)
    assert (document["answer"], document["saved"]) == ("", True)
    assert outline(bench.history(document["session_id"])) == [*LOOKED, "cut off"]
    assert bench.visits()[-1] == "stream"
    (end,) = bench.log("end")
    assert end["outcome"] == outcome

    server.add(say("Nothing there."))
    assert bench.turn("and?", server, "--continue").code == 0
    assert server.last.roles == ["user", "assistant", "tool", "user"]
    assert "still thinking" not in str(server.last.messages)


def test_in_a_tool(bench: Workbench, server: ScriptedServer) -> None:
    """The child is gone, its outcome is said to be unknown, and what never started is said so too (T1-04)."""
    bench.write("a.txt", "one\n")
    server.add(calls(call("read_file", path="a.txt"), SLEEP, call("bash", command="touch second"), text="I sleep."))
    with bench.start(*bench.command("work", server)) as process, sleeping(bench.workspace) as child:
        process.send_signal(signal.SIGINT)
        done = finish(process)
        wait_for(lambda: not alive(child), "the child is gone")
    document = done.document
    assert (done.code, document["outcome"]) == (130, "interrupted")
    assert document["answer"] == ""
    assert [ran["status"] for ran in document["tool_calls"]] == ["ok", "unknown", "cancelled"]
    assert not (bench.workspace / "second").exists()
    assert bench.visits()[-1] == "execute"
    assert outline(bench.history(document["session_id"]))[-4:] == [
        "result: read_file success",
        "result: bash interrupted",
        "result: bash interrupted",
        "cut off",
    ]

    server.add(say("I do not know whether it slept."))
    assert bench.turn("what happened?", server, "--continue").code == 0
    assert server.last.roles == ["user", "assistant", "tool", "tool", "tool", "user"]
    read, unknown, cancelled = server.last.results
    assert "one" in read
    assert "outcome is unknown" in unknown
    assert "not run" in cancelled.lower()


def test_a_second_ctrl_c_does_not_hurry_the_end(bench: Workbench, server: ScriptedServer) -> None:
    server.add(HALF)
    with bench.start(*bench.command("work", server)) as process:
        assert server.hanging.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert (done.code, done.document["outcome"], done.document["saved"]) == (130, "interrupted", True)


def test_before_the_turn(bench: Workbench, server: ScriptedServer) -> None:
    """While the program still loads: one line on stderr, nothing on stdout (T9-13)."""
    with bench.start(*bench.command("-", server), stdin=-1) as process:
        wait_for(lambda: takes_ctrl_c(process.pid), "the program handles signals")
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert (done.code, done.stdout) == (130, "")
    assert done.complaints == ["turngraph: interrupted"]
    assert server.requests == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_the_answer(bench: Workbench, server: ScriptedServer, number: int) -> None:
    """Once the document is out, the exit code is the one it tells."""
    server.add(say("Hello."))
    with bench.start(*bench.command("hi", server)) as process:
        assert process.stdout is not None
        document = json.loads(process.stdout.readline())
        process.send_signal(number)
        done = finish(process)
    assert (done.code, done.stdout) == (document["exit_code"], "")


def test_kill_9_in_the_middle(bench: Workbench, server: ScriptedServer) -> None:
    """Killed in a tool: the next turn closes it, the call whose end nobody saw as unknown, and goes on (T1-04)."""
    server.add(calls(call("list_dir")), calls(call("list_dir"), SLEEP))
    with bench.start(*bench.command("work", server)) as process, sleeping(bench.workspace) as child:
        process.kill()
        process.wait()
        os.killpg(child, signal.SIGKILL)
    assert bench.log("end") == []
    assert [row["name"] for row in bench.log("intent")] == ["list_dir", "list_dir", "bash"]
    assert len(bench.log("result")) == 2  # a result is durable as soon as it is known (T6-16)

    server.add(say("I go on."))
    done = bench.turn("go on", server, "--continue")
    assert (done.code, done.document["answer"]) == (0, "I go on.")
    assert server.last.roles == ["user", "assistant", "tool", "assistant", "tool", "tool", "user"]
    assert "outcome is unknown" in server.last.results[-1]
    assert outline(bench.history(done.document["session_id"])) == [
        *LOOKED,
        "call: list_dir",
        "call: bash",
        "result: list_dir success",
        "result: bash interrupted",
        "cut off",
        "user: go on",
        "text: I go on.",
    ]


@contextmanager
def sleeping(workspace: Path) -> Generator[int]:
    """Wait until `SLEEP` runs; the process id of its shell, which does not outlive the block."""
    pid_file = workspace / "pid"
    wait_for(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"), "the command runs")
    child = int(pid_file.read_text())
    try:
        yield child
    finally:
        if alive(child):
            os.killpg(child, signal.SIGKILL)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody has collected yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def takes_ctrl_c(pid: int) -> bool:
    """Whether the process handles signals itself; until then Python's own handlers are in place."""
    command = Path(f"/proc/{pid}/cmdline").read_text()
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return "turngraph" in command and bool(caught >> (signal.SIGTERM - 1) & 1)
