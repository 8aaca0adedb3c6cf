"""The command line against a real server. What a small model says is its own affair; how it is heard is ours."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ..scripted.harness import Finished, Workbench, finish, outline, wait_for
from .conftest import Taught
from .examples import teach
from .model_server import ModelServer

pytestmark = pytest.mark.end_to_end

NAME_ANIMALS = "name three animals"
STORY = "write a long story about a river, sentence by sentence"
CUT_AT = 64
"""Tokens of one reply: enough for a call, and no room to ramble about its result."""


def command(server: ModelServer, taught: Taught, prompt: str, *args: str) -> list[str]:
    where = ["--cwd", str(taught.bench.workspace), "--session", taught.session]
    which = ["--model", "openai:smollm2", "--base-url", f"{server.address}/v1"]
    return ["run", prompt, *which, *where, "--policy", "read-only", "--output", "jsonl", *args]


def ask(server: ModelServer, taught: Taught, prompt: str, *args: str) -> Finished:
    return taught.bench.run(*command(server, taught, prompt, *args))


def told(stdout: str, kind: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [json.loads(line) for line in stdout.splitlines()]
    return [event for event in events if event["type"] == kind]


def result_of(done: Finished) -> dict[str, Any]:
    (ended,) = told(done.stdout, "turn_ended")
    return ended["result"]


def test_text_streams(server: ModelServer, taught: Taught) -> None:
    """It comes in pieces, the pieces are the answer, and the usage is what the server counted."""
    earlier = taught.bench.history(taught.session)
    done = ask(server, taught, NAME_ANIMALS)
    result = result_of(done)
    pieces = [event["text"] for event in told(done.stdout, "text_delta")]
    assert (done.code, result["outcome"], result["usage"]["requests"]) == (0, "completed", 1), done.stderr
    assert len(pieces) > 2
    assert "".join(pieces) == result["answer"]
    # The server counts the token that ends a reply, and may send two tokens as one piece.
    assert len(pieces) <= result["usage"]["output_tokens"] <= 2 * len(pieces) + 1
    assert result["usage"]["input_tokens"] > 500
    added = taught.bench.history(taught.session)[len(earlier) :]
    assert outline(added) == [f"user: {NAME_ANIMALS}", f"text: {result['answer']}"]


@pytest.mark.parametrize(
    ("prompt", "tool", "arguments", "found"),
    [
        ("search for TODO in src", "grep", {"pattern": "TODO", "path": "src"}, "src/loan.py:2:"),
        ("list the files in tests", "list_dir", {"path": "tests"}, "test_loan.py"),
    ],
)
def test_a_call_goes_round(
    server: ModelServer, taught: Taught, prompt: str, tool: str, arguments: dict[str, str], found: str
) -> None:
    """It comes as deltas and runs, and the server takes its result back in the next request, the turn's last."""
    earlier = taught.bench.history(taught.session)
    done = ask(server, taught, prompt, "--max-iterations", "2", "--max-tokens", str(CUT_AT))
    result = result_of(done)
    assert (done.code, result["outcome"]) in ((0, "completed"), (4, "budget_exhausted")), done.stderr
    assert result["usage"]["requests"] == result["iterations"] == 2
    assert 0 < result["usage"]["output_tokens"] <= 2 * CUT_AT
    (first, *_) = told(done.stdout, "tool_finished")
    assert (first["name"], first["args"], first["status"]) == (tool, arguments, "ok")
    assert found in first["result"]
    history = taught.bench.history(taught.session)
    assert history[: len(earlier)] == earlier
    assert outline(history[len(earlier) :])[:3] == [f"user: {prompt}", f"call: {tool}", f"result: {tool} success"]


def test_two_turns_at_once(server: ModelServer, tmp_path: Path) -> None:
    """Two processes in two directories with one store: each gets its own answer in its own session."""
    both: list[Taught] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        bench = Workbench(tmp_path / name)
        bench.store_path = tmp_path / "store.db"
        both.append(Taught(bench, teach(bench)))
    prompts = [NAME_ANIMALS, "name three trees"]
    with ExitStack() as stack:
        processes = [
            stack.enter_context(taught.bench.start(*command(server, taught, prompt)))
            for taught, prompt in zip(both, prompts, strict=True)
        ]
        wait_for(lambda: server.busy() == 2, "both are answered at the same time")
        done = [finish(process) for process in processes]
    for taught, prompt, one in zip(both, prompts, done, strict=True):
        result = result_of(one)
        assert (one.code, result["outcome"], result["session_id"]) == (0, "completed", taught.session), one.stderr
        assert outline(taught.bench.history(taught.session))[-2:] == [f"user: {prompt}", f"text: {result['answer']}"]


def test_ctrl_c_in_the_stream(server: ModelServer, taught: Taught) -> None:
    """The server is let go, nothing half said is kept but what was asked, and the session goes on."""
    earlier = outline(taught.bench.history(taught.session))
    with taught.bench.start(*command(server, taught, STORY)) as process:
        read_pieces(process, 3)
        process.send_signal(signal.SIGINT)
        done = finish(process)
    result = result_of(done)
    assert (done.code, result["outcome"], result["saved"], result["answer"]) == (130, "interrupted", True, "")
    assert outline(taught.bench.history(taught.session)) == [*earlier, f"user: {STORY}", "cut off"]
    wait_for(lambda: server.busy() == 0, "the server stops writing")

    after = ask(server, taught, NAME_ANIMALS)
    assert (after.code, result_of(after)["outcome"]) == (0, "completed"), after.stderr
    assert outline(taught.bench.history(taught.session))[len(earlier) + 2] == f"user: {NAME_ANIMALS}"


def read_pieces(process: subprocess.Popen[str], number: int) -> None:
    """Read until so many pieces of text have come."""
    assert process.stdout is not None
    while number > 0:
        line = process.stdout.readline()
        assert line, "the turn ended before it was interrupted"
        number -= len(told(line, "text_delta"))
