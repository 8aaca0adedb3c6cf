"""Refusals: nothing waits for a person who is not there, the model is told, and the exit code says so."""

from __future__ import annotations

import pytest

from ..scripted.harness import Workbench, outline
from ..scripted.replies import call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end


@pytest.mark.parametrize(("policy", "words"), [("ask", "no terminal"), ("read-only", "read-only")])
def test_refused(bench: Workbench, server: ScriptedServer, policy: str, words: str) -> None:
    """A mixed reply: the harmless call runs, the other is refused with a reason (T9-04)."""
    bench.write("a.txt", "one\n")
    server.add(
        calls(
            call("bash", command="touch made"),
            call("read_file", path="a.txt"),
            call("write_file", path="b", content=""),
        ),
        say("I may not."),
    )
    done = bench.turn("make a file", server, "--policy", policy)
    document = done.document
    assert (done.code, document["outcome"], document["answer"]) == (5, "refused", "I may not.")
    assert "refused" in document["error"]["message"]
    assert list(bench.workspace.iterdir()) == [bench.workspace / "a.txt"]
    assert sorted(ran["status"] for ran in document["tool_calls"]) == ["ok", "refused", "refused"]
    assert words in server.last.results[0]
    assert "one" in server.last.results[1]
    assert outline(bench.history(document["session_id"]))[4:] == [
        "result: bash denied",
        "result: read_file success",
        "result: write_file denied",
        "text: I may not.",
    ]
    assert [row["name"] for row in bench.log("intent")] == ["read_file"]


def test_only_refused_calls_skip_the_execution(bench: Workbench, server: ScriptedServer) -> None:
    server.add(calls(call("bash", command="touch made")), say("I may not."))
    done = bench.turn("make a file", server, "--policy", "read-only")
    assert done.code == 5
    assert bench.visits()[:5] == ["prepare_history", "stream", "process_node", "dispatch", "persist"]


def test_a_refusal_that_was_overcome_is_no_failure(bench: Workbench, server: ScriptedServer) -> None:
    """Only the last iteration with calls counts."""
    server.add(calls(call("bash", command="ls")), calls(call("list_dir")), say("It is empty."))
    done = bench.turn("what is here?", server, "--policy", "read-only")
    assert (done.code, done.document["outcome"]) == (0, "completed")


def test_paths_outside_the_workspace_fail(bench: Workbench, server: ScriptedServer) -> None:
    secret = bench.root / "secret.txt"
    secret.write_text("xylophone\n")
    server.add(
        calls(call("read_file", path="../secret.txt"), call("write_file", path=str(secret), content="gone")),
        say("I cannot."),
    )
    done = bench.turn("read it", server)
    assert done.code == 0, done.stderr
    assert [ran["status"] for ran in done.document["tool_calls"]] == ["error", "error"]
    assert "xylophone" not in str(server.last.messages)
    assert secret.read_text() == "xylophone\n"
