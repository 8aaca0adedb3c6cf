"""Replies that are no answer: empty, only thought, cut off."""

from __future__ import annotations

import pytest

from ..scripted.harness import Workbench, outline
from ..scripted.replies import Call, Reply, call, calls, cut, nothing, say, think
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end


def test_empty_to_the_end(bench: Workbench, server: ScriptedServer) -> None:
    server.add(nothing(), nothing(), nothing())
    done = bench.turn("hi", server)
    assert (done.code, done.document["outcome"], done.document["answer"]) == (6, "no_answer", "")
    assert "empty" in done.document["error"]["message"]
    assert done.document["iterations"] == 3
    assert outline(bench.history(done.document["session_id"])) == ["user: hi", "cut off"]
    server.add(say("Hello."))
    assert bench.turn("are you there?", server, "--continue").code == 0
    assert server.last.roles == ["user"]


def test_one_empty_reply_then_a_good_one(bench: Workbench, server: ScriptedServer) -> None:
    """The empty reply is neither on the wire nor stored. The remark about it is made once, and within the message
    before it, since strict servers refuse two user messages in a row (T1-05, T2-15)."""
    server.add(nothing(), calls(call("list_dir")), say("Hello."))
    done = bench.turn("hi", server)
    assert (done.code, done.document["answer"], done.document["iterations"]) == (0, "Hello.", 3)
    _, reminded, last = server.requests
    assert reminded.roles == ["user"]
    assert "neither text nor" in reminded.prompts[0]
    assert last.roles == ["user", "assistant", "tool"]
    assert "neither text nor" not in str(last.messages)
    history = outline(bench.history(done.document["session_id"]))
    assert history == ["user: hi", "call: list_dir", "result: list_dir success", "text: Hello."]
    server.add(say("Bye."))
    assert bench.turn("bye", server, "--continue").code == 0
    assert server.last.roles == ["user", "assistant", "tool", "assistant", "user"]
    assert "neither text nor" not in str(server.last.messages)


def test_only_thinking_is_no_answer(bench: Workbench, server: ScriptedServer) -> None:
    """An earlier remark is never taken for the answer (T2-03, T2-04)."""
    server.add(calls(call("list_dir"), text="Let me check."), think("hm"), think("hm, hm"), say("Three files."))
    good = bench.turn("how many files?", server)
    assert (good.code, good.document["answer"]) == (0, "Three files.")
    assert server.last.roles[:3] == ["user", "assistant", "tool"]
    assert server.last.roles.count("assistant") == 1
    assert "hm" not in good.stdout

    server.add(calls(call("list_dir"), text="Let me check."), think("a"), think("b"), think("c"))
    bad = bench.turn("how many files?", server)
    assert (bad.code, bad.document["outcome"], bad.document["answer"]) == (6, "no_answer", "")


def test_thinking_before_an_answer_is_not_part_of_it(bench: Workbench, server: ScriptedServer) -> None:
    server.add(Reply("Four.", reasoning="Two and two."))
    done = bench.turn("2+2?", server)
    assert (done.code, done.document["answer"]) == (0, "Four.")


def test_a_cut_reply_then_a_whole_one(bench: Workbench, server: ScriptedServer) -> None:
    server.add(cut("The answer is that"), say("The answer is 4."))
    done = bench.turn("2+2?", server)
    assert (done.code, done.document["answer"], done.document["iterations"]) == (0, "The answer is 4.", 2)
    assert "The answer is that" not in str(server.last.messages)
    assert "cut off" in str(server.last.messages)
    assert outline(bench.history(done.document["session_id"])) == ["user: 2+2?", "text: The answer is 4."]


def test_cut_to_the_end(bench: Workbench, server: ScriptedServer) -> None:
    server.add(cut("one"), cut("two"), cut("three"))
    done = bench.turn("count", server)
    assert (done.code, done.document["outcome"]) == (6, "no_answer")
    assert "cut off" in done.document["error"]["message"]


def test_a_call_that_was_cut_off_does_not_run(bench: Workbench, server: ScriptedServer) -> None:
    """Neither when the server says so nor when only the token count does (T2-06, T2-07)."""
    half = Call("bash", '{"command": "touch ran.txt && ec')
    server.add(
        Reply(calls=(half,), finish="length"),
        Reply(calls=(half,), finish="tool_calls", usage=(100, 50)),
        say("I could not."),
    )
    done = bench.turn("touch it", server, "--max-tokens", "50")
    assert done.code == 0, done.stderr
    assert not (bench.workspace / "ran.txt").exists()
    assert all("cut off" in result for result in server.last.results)
    assert [ran["status"] for ran in done.document["tool_calls"]] == ["error", "error"]
