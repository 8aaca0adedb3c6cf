"""The command line as a process: what it loads, and how it behaves at a terminal."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from ...scripted.harness import Workbench, finish
from ...scripted.replies import Hang, Reply, call, calls, say
from ...scripted.server import ScriptedServer, serving
from .emulator import shown
from .screen import Screen, at_a_terminal

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(shutil.which("setsid") is None, reason="needs setsid to own a terminal"),
]

HEAVY = ("pydantic_ai", "pydantic_graph", "networkx", "rich", "anyio", "asyncio")


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


@pytest.fixture
def server() -> Generator[ScriptedServer]:
    with serving() as server:
        yield server
    assert server.violations == []


def environment(bench: Workbench, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {
        **kept,
        "HOME": str(bench.root),
        "TURNGRAPH_STORE": str(bench.store_path),
        "TURNGRAPH_CONFIG": str(bench.settings),
        **more,
    }


def at_terminal(
    bench: Workbench,
    server: ScriptedServer,
    *args: str,
    columns: int = 80,
    stdout: int | None = None,
    stdin: int | None = None,
    env: dict[str, str] | None = None,
) -> AbstractContextManager[Screen]:
    command = bench.command("work", server, "--output", "text", *args)
    variables = environment(bench, **(env or {}))
    return at_a_terminal(*command, cwd=bench.root, env=variables, columns=columns, stdout=stdout, stdin=stdin)


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["run", "--help"],
        ["session", "--help"],
        ["turn", "--help"],
        ["turn", "fork", "--help"],
        ["turn", "resume", "--nope"],
        ["--version"],
        ["run", "--nope"],
    ],
)
def test_words_of_the_program_load_nothing_heavy(args: list[str], bench: Workbench) -> None:
    code = (
        "import sys\n"
        "from turngraph.flows.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(*(name.partition('.')[0] for name in sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, env=environment(bench), check=True
    )
    loaded = set(done.stderr.split())
    assert "typer" in loaded
    assert not loaded & set(HEAVY)


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_help_fits_the_terminal_and_ends_with_three_examples(bench: Workbench, columns: str) -> None:
    done = bench.run("run", "--help", env={"COLUMNS": columns, "TERMINAL_WIDTH": columns})
    assert done.code == 0
    assert done.stderr == ""
    examples = done.stdout.partition("Examples:")[2].strip().splitlines()
    assert len(examples) == 3
    assert all("turngraph run" in line for line in examples)


def test_yes_at_the_question_runs_exactly_what_was_shown(bench: Workbench, server: ScriptedServer) -> None:
    server.add(calls(call("bash", command="echo hello > made\necho done")), say("Made."))
    with at_terminal(bench, server, "--policy", "ask") as screen:
        screen.wait_for("Run it? [y/n/s/a] ")
        assert "command: echo hello > made\n    echo done\n" in screen.plain
        assert not (bench.workspace / "made").exists()
        screen.type("y\n")
        assert screen.end() == 0
    assert (bench.workspace / "made").read_text() == "hello\n"
    assert "Made.\n" in screen.plain


def test_no_with_a_reason_is_told_to_the_model(bench: Workbench, server: ScriptedServer) -> None:
    server.add(calls(call("bash", command="make")), say("I may not."))
    with at_terminal(bench, server, "--policy", "ask") as screen:
        screen.wait_for("Run it? [y/n/s/a] ")
        screen.type("n use ninja\n")
        assert screen.end() == 5
    assert "use ninja" in server.last.results[0]


@pytest.mark.parametrize("key", ["\x03", "a\n", "\x04"], ids=["ctrl-c", "a", "ctrl-d"])
def test_abort_at_the_question_ends_the_turn_and_saves_it(bench: Workbench, server: ScriptedServer, key: str) -> None:
    server.add(calls(call("bash", command="touch made")))
    with at_terminal(bench, server, "--policy", "ask") as screen:
        screen.wait_for("Run it? [y/n/s/a] ")
        screen.type(key)
        assert screen.end() == 130
    assert not (bench.workspace / "made").exists()
    assert "aborted" in screen.plain
    (end,) = bench.log("end")
    assert end["outcome"] == "aborted"


def test_text_streams_to_a_terminal_before_the_reply_is_whole(bench: Workbench, server: ScriptedServer) -> None:
    server.add(Hang(say("I am still thinking about it"), after=3))
    with at_terminal(bench, server) as screen:
        screen.wait_for("I am")
        screen.type("\x03")
        assert screen.end() == 130
    assert "interrupted" in screen.plain.splitlines()[-1]


def test_a_question_is_answered_at_the_terminal_although_something_is_piped_in(
    bench: Workbench, server: ScriptedServer
) -> None:
    server.add(calls(call("write_file", path="made", content="hello\n")), say("Made."))
    read, write = os.pipe()
    os.write(write, b"material")
    os.close(write)
    with at_terminal(bench, server, "--policy", "ask", stdin=read) as screen:
        os.close(read)
        screen.wait_for("Run it? [y/n/s/a] ")
        assert (
            "write_file creates made: 1 line (write):\n--- /dev/null\n+++ b/made\n@@ -0,0 +1,1 @@\n+hello\n"
            in screen.plain
        )
        screen.type("y\n")
        assert screen.end() == 0
    assert (bench.workspace / "made").read_text() == "hello\n"
    assert "material" in server.last.prompts[0]


@pytest.mark.parametrize("env", [{}, {"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_an_answer_at_a_terminal_is_drawn_once(bench: Workbench, server: ScriptedServer, env: dict[str, str]) -> None:
    server.add(
        say("Some **bold** words.\n\n```\n" + "".join(f"line {number}\n" for number in range(50)) + "```\n\nEnd")
    )
    with at_terminal(bench, server, env=env) as screen:
        assert screen.end() == 0
    rows = shown(screen.text).splitlines()
    assert [row for row in rows if row.startswith("line ")] == [f"line {number}" for number in range(50)]
    assert rows[0] == ("Some **bold** words." if env.get("TERM") == "dumb" else "Some bold words.")
    assert ("\x1b" in screen.text) is (env.get("TERM") != "dumb")


def test_only_a_terminal_costs_the_loading_of_markdown(bench: Workbench) -> None:
    code = (
        "import sys\n"
        "from turngraph.flows.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "list the files", "--quiet"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=bench.workspace,
        env=environment(bench),
        check=True,
    )
    loaded = set(done.stderr.split())
    assert "rich.console" in loaded
    assert not loaded & {"rich.markdown", "markdown_it", "pygments", "networkx"}


def test_an_answer_into_a_file_is_the_answer_alone(bench: Workbench, server: ScriptedServer) -> None:
    server.add(calls(call("list_dir"), text="I look."), Reply(text="Empty.", reasoning="hm, nothing"))
    target = bench.root / "answer.txt"
    with (
        target.open("wb") as file,
        at_terminal(bench, server, "--thinking", "show", stdout=file.fileno()) as screen,
    ):
        assert screen.end() == 0
    assert target.read_text() == "Empty.\n"
    for part in ("I look.\n", "list_dir", "hm, nothing", "completed"):
        assert part in screen.plain


@pytest.mark.parametrize(
    ("columns", "env", "coloured"),
    [(40, {}, True), (200, {}, True), (80, {"NO_COLOR": "1"}, False), (80, {"TERM": "dumb"}, False)],
)
def test_tool_lines_fit_and_colours_obey(
    bench: Workbench, server: ScriptedServer, columns: int, env: dict[str, str], coloured: bool
) -> None:
    server.add(calls(call("grep", pattern="a rather long pattern " * 4)), say("None."))
    with at_terminal(bench, server, columns=columns, env=env) as screen:
        assert screen.end() == 0
    (line,) = [line for line in screen.plain.splitlines() if line.startswith("  grep")]
    assert len(line) <= columns
    assert line.endswith(" ms")
    assert ("\x1b[32m" in screen.text) is coloured


def test_the_third_signal_quits_at_once(bench: Workbench, server: ScriptedServer) -> None:
    """The turn cannot end while a tool does not let itself be cancelled; whoever insists gets out."""
    code = (
        "import sys, time\n"
        "from turngraph.tools import read_file\n"
        "original = read_file.tool\n"
        "def tool(workspace):\n"
        "    async def read_file(path: str) -> str:\n"
        "        '''Read.\n\n        Args:\n            path: it.\n        '''\n"
        "        print('stuck', file=sys.stderr, flush=True)\n"
        "        while True: time.sleep(0.01)\n"
        "    return read_file\n"
        "read_file.tool = tool\n"
        "from turngraph.flows.cli import main\n"
        "main()\n"
    )
    server.add(calls(call("read_file", path="x")))
    command = bench.command("work", server)
    process = subprocess.Popen(
        [sys.executable, "-c", code, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(bench),
    )
    with process:
        assert process.stderr is not None
        while "stuck" not in (line := process.stderr.readline()):
            assert line, "the tool never ran"
        deadline = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        process.kill()
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert err.count("a third signal quits at once") == 1
    assert "Traceback" not in err


def test_sessions_and_graph(bench: Workbench, server: ScriptedServer) -> None:
    nothing = bench.run("session", "list")
    assert (nothing.code, nothing.stdout) == (0, "")
    assert "there are no sessions yet" in nothing.stderr
    server.add(say("Hello."))
    session = bench.turn("hi", server).document["session_id"]
    shown = bench.run("session", "show", "--last")
    assert (shown.code, shown.stderr) == (0, "")
    assert shown.stdout.startswith("> hi\nHello.\ncompleted")
    events = [
        json.loads(line) for line in bench.run("session", "show", session, "--output", "jsonl").stdout.splitlines()
    ]
    assert [events[0]["type"], events[-1]["type"]] == ["turn_started", "turn_ended"]
    for form in ("mermaid", "text"):
        drawn = bench.run("graph", "export", "--format", form)
        assert drawn.code == 0
        assert "Stream" in drawn.stdout


def test_the_offline_router_says_so_unless_quiet(bench: Workbench) -> None:
    bench.write("a.py", "# TODO\n")
    args = ("run", "search for TODO", "--cwd", str(bench.workspace))
    loud, quiet = bench.run(*args), bench.run(*args, "--quiet")
    assert (loud.code, quiet.code, quiet.stderr) == (0, 0, "")
    assert loud.stderr.count("no language model is configured") == 1
    assert "a.py" in loud.stdout
    assert loud.stdout == quiet.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_an_answer_that_a_full_disk_swallowed_is_no_success(
    bench: Workbench, server: ScriptedServer, form: str
) -> None:
    """The turn is saved all the same, and the loss is said in one line."""
    server.add(say("Hello."))
    with Path("/dev/full").open("wb") as full:
        command = bench.command("hi", server, "--output", form, "--quiet")
        with bench.start(*command, stdout=full.fileno()) as process:
            done = finish(process)
    assert done.code == 1
    assert done.stderr == "turngraph: the output could not be written: No space left on device\n"
    (end,) = bench.log("end")
    assert end["outcome"] == "completed"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_do_no_harm(bench: Workbench, server: ScriptedServer, closed: str) -> None:
    """Above all the store does not become stderr."""
    server.add(say("Hello."), say("Again."))
    command = bench.command("hi", server, "--quiet")
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "turngraph", *command],
        env=environment(bench),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    again = bench.turn("again", server, "--continue")
    assert again.document["answer"] == "Again.", again.stdout + again.stderr


def test_debug_hides_secrets(bench: Workbench, server: ScriptedServer) -> None:
    server.add(say("The key is correct-horse-battery."))
    done = bench.turn(
        "my key is correct-horse-battery", server, "--debug", env={"SOME_API_KEY": "correct-horse-battery"}
    )
    assert done.code == 0
    assert " DEBUG turngraph: " in done.stderr
    log = [line for line in done.stderr.splitlines() if " turngraph: " in line]
    assert not any("correct-horse" in line for line in log)
