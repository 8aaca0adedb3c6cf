"""The command line in scripts, CI and pipes: whatever stands at its three streams, and whenever Ctrl-C comes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from turngraph.flows.store import EndBody, Store

from ...scripted.harness import Workbench, finish
from ...scripted.replies import Status, call, calls, say
from ...scripted.server import ScriptedServer, serving

pytestmark = pytest.mark.end_to_end

COMMANDS = [
    ["--help"],
    ["session", "list"],
    ["session", "show", "--last"],
    ["session", "show", "--last", "--output", "jsonl"],
    ["turn", "list"],
    ["turn", "show", "--last"],
    ["graph", "export"],
    ["graph", "export", "--format", "text"],
]
NAMES = [" ".join(command) for command in COMMANDS]
EVERYTHING = "\u2588 \U0001f600 \ufeff \u0142 \u6f22 \x1b]0;owned\x07 \x9b31m end"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


@pytest.fixture
def server() -> Generator[ScriptedServer]:
    with serving() as server:
        yield server
    assert server.violations == []


@pytest.fixture
def with_a_session(bench: Workbench, server: ScriptedServer) -> Workbench:
    """A session in which a model said whatever a narrow encoding lacks and a terminal obeys."""
    server.add(say(EVERYTHING * 50))
    assert bench.turn(f"say {EVERYTHING}", server, "--output", "text").code == 0
    return bench


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_a_reader_that_is_gone_ends_every_command_quietly(with_a_session: Workbench, command: list[str]) -> None:
    """T9-01: `| head -0`, with stderr going the same way too."""
    for where in ("stdout", "both"):
        read, write = os.pipe()
        os.close(read)
        stderr = write if where == "both" else subprocess.PIPE
        with with_a_session.start(*command, stdout=write, stderr=stderr) as process:
            os.close(write)
            done = finish(process)
        assert (done.code, done.stderr) == (0, "")


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_a_reader_that_is_gone_costs_no_turn(bench: Workbench, server: ScriptedServer, form: str) -> None:
    server.add(calls(call("list_dir")), say("It is empty.\n" * 2000))
    read, write = os.pipe()
    os.close(read)
    with bench.start(*bench.command("look", server, "--output", form), stdout=write) as process:
        os.close(write)
        assert finish(process).code == 0
    (end,) = bench.log("end")
    assert end["outcome"] == "completed"
    with Store.open(bench.store_path) as store:
        body = store.journal(store.latest_turns(1)[0])[-1].body
    assert isinstance(body, EndBody)
    assert body.result.answer == ("It is empty.\n" * 2000).rstrip()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "latin-1", "gbk", "utf-16"])
def test_no_encoding_is_too_narrow(with_a_session: Workbench, encoding: str) -> None:
    """T9-08: what it lacks is written as its escape; what it has is written."""
    for command in (["session", "show", "--last"], ["session", "list"], ["graph", "export", "--format", "text"]):
        process = subprocess.run(
            [sys.executable, "-m", "turngraph", *command],
            capture_output=True,
            env={**environment(with_a_session), "PYTHONIOENCODING": encoding},
            check=False,
        )
        assert (process.returncode, process.stderr) == (0, b"")
        shown = process.stdout.decode(encoding)
        assert not set(shown) & set("\x1b\x07\x9b")
        if command[0] == "session":
            assert "end" in shown


def environment(bench: Workbench) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    stores = {"TURNGRAPH_STORE": str(bench.store_path), "TURNGRAPH_CONFIG": str(bench.settings)}
    return {**kept, **stores, "HOME": str(bench.root)}


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": "xterm-256color"}, {"COLUMNS": "0"}])
def test_without_a_terminal_there_is_no_control_sequence(
    bench: Workbench, server: ScriptedServer, env: dict[str, str]
) -> None:
    """T9-11, T9-06: stdin is nothing, stdout and stderr are pipes, and the environment promises a terminal or none."""
    server.add(calls(call("bash", command="printf '\\033[31mred\\033[0m'"), text="I *look*."), say(f"**{EVERYTHING}**"))
    done = bench.turn("look", server, "--output", "text", "--thinking", "show", "--verbose", env=env)
    assert done.code == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout.startswith("**\u2588")
    assert "red" in done.stderr


@pytest.mark.parametrize(
    "noise", [{"PYTHONWARNINGS": "always"}, {"PYTHONDEVMODE": "1"}, {"PYTHONVERBOSE": "1"}, {"PYTHONASYNCIODEBUG": "1"}]
)
def test_stdout_is_json_however_loud_python_is(bench: Workbench, server: ScriptedServer, noise: dict[str, str]) -> None:
    """T9-09, T9-10: nothing before the document, nothing after it."""
    server.add(calls(call("list_dir")), say("Done."))
    with bench.start(*bench.command("look", server, "--debug"), env=noise) as process:
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, json.loads(out)["answer"]) == (0, "Done.")
    server.add(say("Done."))
    with bench.start(*bench.command("look", server, "--output", "jsonl"), env=noise) as process:
        out, _ = process.communicate(timeout=60)
    assert [json.loads(line) for line in out.splitlines()][-1]["type"] == "turn_ended"


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
@pytest.mark.parametrize("code", [400, 401, 404, 429, 500])
def test_a_failing_server_is_no_success_in_any_form(
    bench: Workbench, server: ScriptedServer, code: int, form: str
) -> None:
    """T9-02."""
    server.add(Status(code))
    done = bench.turn("hi", server, "--output", form)
    assert done.code == 3
    assert len(done.complaints) >= 1
    if form == "text":
        assert done.stdout == ""
    else:
        last = json.loads(done.stdout.splitlines()[-1])
        assert last.get("result", last)["error"]["kind"] == "provider_failure"


@pytest.mark.parametrize("kind", ["nothing", "closed", "idle pipe", "ended pipe", "file"])
def test_nothing_waits_for_a_person_who_is_not_there(bench: Workbench, server: ScriptedServer, kind: str) -> None:
    """T9-04: a call that would be asked about is refused, whatever stdin is."""
    server.add(calls(call("bash", command="touch made")), say("I may not."))
    read, write = os.pipe()
    if kind == "ended pipe":
        os.close(write)
    if kind == "file":
        os.close(read)
        read = os.open(bench.write("input", "material\n"), os.O_RDONLY)
    stdin = {"nothing": subprocess.DEVNULL, "closed": subprocess.DEVNULL}.get(kind, read)
    wrapper = ["sh", "-c", 'exec "$@" <&-', "sh"] if kind == "closed" else []
    began = time.monotonic()
    with bench.start(*bench.command("do", server, "--policy", "ask"), stdin=stdin, wrapper=wrapper) as process:
        done = finish(process)
    assert time.monotonic() - began < 50
    os.close(read)
    if kind != "ended pipe":
        os.close(write)
    assert (done.code, done.document["outcome"]) == (5, "refused")
    assert not (bench.workspace / "made").exists()
    assert ("material" in server.last.prompts[0]) is (kind == "file")
    assert any("left alone" in notice["text"] for notice in done.document["notices"]) is (kind == "idle pipe")


def test_a_diff_is_reviewed_in_a_pipe_and_the_answer_kept(bench: Workbench, server: ScriptedServer) -> None:
    target = bench.root / "review.md"
    target.write_text("old\n")
    server.add(say("# Fine\n\nNo *faults*."))
    done = bench.turn("review this", server, "--output", "text", "-o", str(target), stdin="+ a ``` b\n")
    assert done.code == 0
    assert done.stdout == target.read_text() == "# Fine\n\nNo *faults*.\n"
    assert "review this\n\nFrom stdin:\n\n````\n+ a ``` b\n````" in server.last.prompts[0]
    assert "1 line from stdin went under the prompt" in done.stderr
    server.add(Status(500))
    failed = bench.turn("again", server, "--output", "text", "-o", str(target), "--no-stdin", stdin="x")
    assert (failed.code, target.read_text()) == (3, done.stdout)
    assert "there is no answer" in failed.stderr


@pytest.mark.parametrize("command", [*COMMANDS, ["run", "find TODO", "--output", "json"]], ids=[*NAMES, "run"])
def test_ctrl_c_at_any_moment_leaves_one_line_or_a_whole_answer(with_a_session: Workbench, command: list[str]) -> None:
    """T9-13: before, during and after everything that a command loads and does."""
    began = time.monotonic()
    whole = with_a_session.run(*command)
    lasts = time.monotonic() - began
    assert whole.code == 0
    code = (
        "import sys\n"
        "from turngraph.flows.cli import main, signals\n"
        "signals.take_over()\n"
        "print('ready', file=sys.stderr, flush=True)\n"
        "main()\n"
    )
    for part in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", code, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(with_a_session),
            cwd=with_a_session.workspace,
        )
        with process:
            assert process.stderr is not None
            assert process.stderr.readline() == "ready\n"
            time.sleep(lasts * part / 6)
            process.send_signal(signal.SIGINT)
            done = finish(process)
        assert done.code in (0, 130)
        if command[0] == "run":
            assert done.stdout == "" or json.loads(done.stdout)["exit_code"] == done.code
        elif done.code == 0:
            assert done.stdout == whole.stdout
        else:
            assert done.stderr == "turngraph: interrupted\n"
