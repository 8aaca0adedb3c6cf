"""The question before a call, on a real terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from collections.abc import Sequence

import pytest

from ..scripted.harness import PATIENCE, Finished, Workbench, finish, outline
from ..scripted.replies import call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end

ON_A_TERMINAL = "import fcntl,os,sys,termios;fcntl.ioctl(0,termios.TIOCSCTTY,0);os.execv(sys.argv[1],sys.argv[1:])"
QUESTION = b"Run it?"
CTRL_C = "\x03"


def test_yes_no_and_abort(bench: Workbench, server: ScriptedServer) -> None:
    """What ran before an abort stays; the call that was aborted is answered and did not run."""
    server.add(*[calls(call("bash", command=f"touch {name}")) for name in ("one", "two", "three")])
    done, screen = talk(bench, server, ["y\n", "n only one\n", "a\n"])
    document = done.document
    assert (done.code, document["outcome"]) == (130, "aborted")
    assert "touch three" in screen
    assert [path.name for path in bench.workspace.iterdir()] == ["one"]
    assert server.last.results[1].count("only one") == 1
    assert outline(bench.history(document["session_id"])) == [
        "user: make files",
        "call: bash",
        "result: bash success",
        "call: bash",
        "result: bash denied",
        "call: bash",
        "result: bash interrupted",
        "cut off",
    ]
    server.add(say("One file."))
    assert bench.turn("what is there?", server, "--continue").code == 0
    assert server.last.roles == ["user", *["assistant", "tool"] * 3, "user"]


def test_ctrl_c_at_the_question(bench: Workbench, server: ScriptedServer) -> None:
    server.add(calls(call("bash", command="touch one")))
    done, _ = talk(bench, server, [CTRL_C])
    assert (done.code, done.document["saved"]) == (130, True)
    assert list(bench.workspace.iterdir()) == []
    (end,) = bench.log("end")
    assert end["outcome"] == done.document["outcome"]


def talk(bench: Workbench, server: ScriptedServer, answers: Sequence[str]) -> tuple[Finished, str]:
    """One turn under policy ask with a person who types; what the process left, and what the screen showed."""
    ours, theirs = pty.openpty()
    command = bench.command("make files", server, "--policy", "ask")
    wrapper = [sys.executable, "-c", ON_A_TERMINAL]
    try:
        with bench.start(*command, wrapper=wrapper, stdin=theirs, stderr=theirs) as process:
            os.close(theirs)
            screen = b""
            for number, answer in enumerate(answers, 1):
                while screen.count(QUESTION) < number:
                    screen += _shown(ours)
                os.write(ours, answer.encode())
            rest = b""
            while shown := _shown(ours):
                rest += shown
            return finish(process), (screen + rest).decode(errors="replace")
    finally:
        os.close(ours)


def _shown(terminal: int) -> bytes:
    """What the terminal shows next; nothing once the last process has left it."""
    ready, _, _ = select.select([terminal], [], [], PATIENCE)
    if not ready:
        raise subprocess.TimeoutExpired("turngraph", PATIENCE)
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
