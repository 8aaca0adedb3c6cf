"""What the model's server can do wrong: exit code 3, one clear sentence, and a session that goes on."""

from __future__ import annotations

import pytest

from ..scripted.harness import Finished, Workbench, outline
from ..scripted.replies import Drop, Garbage, Status, Step, call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end


def assert_provider_failure(done: Finished, *words: str) -> None:
    document = done.document
    assert (done.code, document["outcome"], document["exit_code"]) == (3, "provider_failure", 3)
    assert document["answer"] == ""
    message = document["error"]["message"]
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_500_that_stays(bench: Workbench, server: ScriptedServer) -> None:
    server.add(*[Status(500, retry=True)] * 9)
    assert_provider_failure(bench.turn("hi", server), "500", "scripted failure")
    assert 1 <= len(server.requests) <= 4
    server.script.clear()


def test_a_500_that_passes(bench: Workbench, server: ScriptedServer) -> None:
    server.add(Status(500, retry=True), say("Better now."))
    done = bench.turn("hi", server)
    assert (done.code, done.document["answer"], done.document["iterations"]) == (0, "Better now.", 1)


def test_a_401_names_the_cause_and_hides_the_key(bench: Workbench, server: ScriptedServer) -> None:
    server.add(Status(401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}))
    key = "sk-TEST-0123456789abcdef"
    done = bench.turn("hi", server, "--debug", env={"OPENAI_API_KEY": key})
    assert_provider_failure(done, "401", "Incorrect API key")
    assert len(server.requests) == 1
    assert server.last.headers["authorization"] == f"Bearer {key}"
    assert key not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Drop(say("a text that is never whole"), after=3), ()),
        (Garbage('data: {"error": {"message": "the model is overloaded"}}\n\n'), ("overloaded",)),
        (Garbage('{"error": {"message": "no such model"}}', "application/json"), ()),
        (Garbage("<html>gateway</html>", "text/html"), ()),
        (Garbage("data: {not json\n\n"), ()),
    ],
    ids=["dropped", "error event", "error as json", "html", "no json"],
)
def test_a_broken_stream_keeps_what_was_finished(
    bench: Workbench, server: ScriptedServer, fault: Step, words: tuple[str, ...]
) -> None:
    """The finished iteration stays, the broken one leaves nothing, and the next turn is accepted (T1-02)."""
    server.add(calls(call("list_dir")), fault)
    done = bench.turn("look", server)
    assert_provider_failure(done, *words)
    assert bench.visits()[-1] == "stream"
    history = outline(bench.history(done.document["session_id"]))
    assert history == ["user: look", "call: list_dir", "result: list_dir success", "cut off"]
    if isinstance(fault, Drop):
        server.add(say("Nothing there."))
        assert bench.turn("again", server, "--continue").code == 0
        assert server.last.roles == ["user", "assistant", "tool", "user"]


def test_nobody_listens(bench: Workbench, server: ScriptedServer) -> None:
    done = bench.turn("hi", server, "--base-url", "http://127.0.0.1:9/v1")
    assert_provider_failure(done)
    assert done.stderr.count("\n") <= 3
