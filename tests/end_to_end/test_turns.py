"""Turns that go well, or that a model brings back on course."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from ..scripted.harness import Workbench, outline
from ..scripted.replies import Call, call, calls, say
from ..scripted.server import Request, ScriptedServer

pytestmark = pytest.mark.end_to_end

TOOLS = {"bash", "glob", "grep", "list_dir", "read_file", "update_file", "write_file"}
ASK = ["prepare_history", "stream", "process_node"]
AGAIN = ["persist", "stream", "process_node"]
RUN = ["dispatch", "execute"]
DONE = ["persist"]


def test_text_only_and_then_a_second_turn(bench: Workbench, server: ScriptedServer) -> None:
    server.add(say("Hello there."), say("Hello again."))
    first = bench.turn("hi", server, "--max-tokens", "321")
    assert first.code == 0, first.stderr
    assert_well_asked(server.last)
    assert server.last.prompts[0].endswith("hi")
    document = first.document
    assert document["schema"] == "turngraph.turn/1"
    assert (document["outcome"], document["exit_code"], document["error"]) == ("completed", 0, None)
    assert (document["answer"], document["iterations"]) == ("Hello there.", 1)
    assert document["usage"]["input_tokens"] == 100
    assert document["usage"]["output_tokens"] == 10
    assert document["edited_files"] == []
    assert bench.visits(document["turn_id"]) == [*ASK, *DONE]

    second = bench.turn("and now?", server, "--continue").document
    assert second["session_id"] == document["session_id"]
    assert server.last.roles == ["user", "assistant", "user"]
    assert server.last.messages[-2]["content"] == "Hello there."
    assert outline(bench.history(document["session_id"])) == [
        "user: hi",
        "text: Hello there.",
        "user: and now?",
        "text: Hello again.",
    ]

    server.add(say("A new one."))
    assert bench.turn("who are you?", server).document["session_id"] != document["session_id"]
    assert server.last.roles == ["user"]


def assert_well_asked(request: Request) -> None:
    """A streamed request with instructions, every tool, and the answer's limit."""
    body = request.body
    assert body["stream"] is True
    assert body["stream_options"]["include_usage"] is True
    assert body["model"] == "scripted"
    assert 321 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert request.tools >= TOOLS
    assert body["messages"][0]["role"] == "system"


def test_one_read_only_call(bench: Workbench, server: ScriptedServer) -> None:
    bench.write("notes.txt", "the secret word is xylophone\n")
    server.add(calls(call("read_file", path="notes.txt"), text="I look."), say("It is xylophone."))
    done = bench.turn("what is the word?", server)
    assert done.code == 0, done.stderr
    document = done.document
    assert (document["answer"], document["iterations"]) == ("It is xylophone.", 2)
    assert document["usage"]["requests"] == 2
    assert document["usage"]["input_tokens"] == 200
    (ran,) = document["tool_calls"]
    assert (ran["name"], ran["status"], ran["args"]) == ("read_file", "ok", {"path": "notes.txt"})
    assert server.last.roles == ["user", "assistant", "tool"]
    assert "xylophone" in server.last.results[0]
    assert bench.visits() == [*ASK, *RUN, *AGAIN, *DONE]
    assert outline(bench.history(document["session_id"])) == [
        "user: what is the word?",
        "text: I look.",
        "call: read_file",
        "result: read_file success",
        "text: It is xylophone.",
    ]
    (intent,), (result,) = bench.log("intent"), bench.log("result")
    assert (intent["name"], result["status"]) == ("read_file", "ok")


def test_three_calls_side_by_side_and_an_edit(bench: Workbench, server: ScriptedServer) -> None:
    bench.write("a.txt", "one\n")
    bench.write("b.txt", "two\n")
    code = bench.write("src/code.py", "x = 1\ny = 2\n")
    server.add(
        calls(
            call("update_file", path="src/code.py", old="y = 2", new="y = 3"),
            call("read_file", path="a.txt"),
            call("read_file", path="b.txt"),
            call("grep", pattern="x = ", path="src"),
        ),
        say("Changed y."),
    )
    done = bench.turn("set y to 3", server)
    assert done.code == 0, done.stderr
    assert [ran for ran in done.document["tool_calls"] if ran["status"] != "ok"] == [], server.last.results
    assert code.read_text() == "x = 1\ny = 3\n", server.last.results
    assert done.document["edited_files"] == ["src/code.py"]
    ids = [one["id"] for one in server.last.messages[-5]["tool_calls"]]
    assert [message["tool_call_id"] for message in server.last.messages[-4:]] == ids
    assert "one" in server.last.results[1]
    assert "two" in server.last.results[2]
    assert "x = 1" in server.last.results[3]
    (edited,) = [row for row in bench.log("result") if row.get("edited")]
    assert edited["edited"] == ["src/code.py"]


def test_wrong_names_and_arguments_are_told_to_the_model(bench: Workbench, server: ScriptedServer) -> None:
    """Each wrong call is an answered call; the turn goes on within its budget (T2-08, T4-15)."""
    bench.write("a.txt", "needle\n")
    server.add(
        calls(call("Grep", pattern="needle")),
        calls(call("search", pattern="needle")),
        calls(Call("grep", '{"pattern": "needle" "path"')),
        calls(call("grep", wrong=1)),
        calls(call("grep", pattern="needle"), Call("grep", "[1, 2]")),
        say("Found it in a.txt."),
    )
    done = bench.turn("find the needle", server)
    assert done.code == 0, done.stderr
    assert sorted(ran["status"] for ran in done.document["tool_calls"]) == ["error"] * 5 + ["ok"]
    first, second, third, fourth, fifth, sixth = server.last.results
    assert "read_file" in first  # the valid names are listed
    assert "read_file" in second
    assert third != ""
    assert "pattern" in fourth
    assert "a.txt" in fifth
    assert sixth != ""
    assert len(bench.log("intent")) == 1


def test_calls_written_as_text_run(bench: Workbench, server: ScriptedServer) -> None:
    bench.write("notes.txt", "the secret word is xylophone\n")
    wanted = '{"name": "read_file", "arguments": {"path": "notes.txt"}}'
    server.add(say(f"I look.\n<tool_call>{wanted}</tool_call>"), say("It is xylophone."))
    done = bench.turn("what is the word?", server)
    assert done.code == 0, done.stderr
    assert done.document["answer"] == "It is xylophone."
    assert "xylophone" in server.last.results[0]
    assert server.last.roles == ["user", "assistant", "tool"]
    assert "<tool_call>" not in str(server.last.messages[1:])
    assert bench.visits() == [*ASK, *RUN, *AGAIN, *DONE]
    assert outline(bench.history(done.document["session_id"]))[1:4] == [
        "text: I look.",
        "call: read_file",
        "result: read_file success",
    ]


def test_text_that_only_looks_like_a_call_is_the_answer(bench: Workbench, server: ScriptedServer) -> None:
    """A JSON fence with a `name` is not a call (T3-02)."""
    answer = 'The package.json says:\n```json\n{"name": "grep", "version": "1.0"}\n```'
    server.add(say(answer))
    done = bench.turn("show package.json", server)
    assert (done.code, done.document["answer"]) == (0, answer)
    assert bench.visits() == [*ASK, "dispatch", *DONE]
    assert bench.log("intent") == []


def test_one_constant_id_for_all_calls(bench: Workbench, server: ScriptedServer) -> None:
    """llama.cpp gives every call the same id; every result still reaches the model (T1-08)."""
    for name in ("a", "b", "c"):
        bench.write(f"{name}.txt", f"content of {name}\n")
    read = [Call("read_file", f'{{"path": "{name}.txt"}}', "K") for name in ("a", "b", "c")]
    server.add(calls(read[0]), calls(read[1], read[2]), say("All read."))
    done = bench.turn("read all", server)
    assert done.code == 0, done.stderr
    for name, result in zip(("a", "b", "c"), server.last.results, strict=True):
        assert f"content of {name}" in result
    server.add(say("Fine."))
    assert bench.turn("thanks", server, "--continue").code == 0
    assert len(server.last.results) == 3


@pytest.mark.parametrize(
    "dialect",
    [
        pytest.param("none", id="no index"),
        pytest.param("zero", id="index 0 for all"),
    ],
)
def test_calls_of_compatible_servers(
    bench: Workbench, server: ScriptedServer, dialect: Literal["none", "zero"]
) -> None:
    """Whole calls without an index, or all with the index 0, are still several calls (T2-11, T2-12)."""
    wanted = calls(call("list_dir"), call("glob", pattern="*.txt"))
    server.add(replace(wanted, dialect=dialect), say("Nothing here."))
    done = bench.turn("look", server)
    assert (done.code, done.document["answer"]) == (0, "Nothing here.")
    assert [(ran["name"], ran["status"]) for ran in done.document["tool_calls"]] == [("list_dir", "ok"), ("glob", "ok")]
