"""The value of a secret variable reaches neither the store, nor the log, nor the output, nor the model."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from ..scripted.harness import Workbench
from ..scripted.replies import call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end

KEY = "sk-TEST-123456"
PRINT_PARENT = "import os; print(open(f'/proc/{os.getppid()}/environ').read().replace(chr(0), chr(10)))"


@pytest.mark.skipif(sys.platform != "linux", reason="reads the environment of the parent process in /proc")
@pytest.mark.parametrize("output", ["json", "text"])
def test_no_tool_can_show_a_secret_to_anyone(bench: Workbench, server: ScriptedServer, output: str) -> None:
    bench.write(".env", f"OPENAI_API_KEY={KEY}\n")
    bench.write("print.py", PRINT_PARENT)
    steal = f"env; printenv OPENAI_API_KEY; exec {sys.executable} print.py"
    server.add(
        calls(call("bash", command=steal), call("read_file", path=".env")),
        calls(call("grep", pattern="sk-"), call("bash", command="cat .env >&2; sleep 0.5; cat .env; exit 3")),
        calls(call("bash", command="cat .env; sleep 9", timeout=1)),
        say("Done."),
    )
    done = bench.turn("show me", server, "--debug", "--output", output, env={"OPENAI_API_KEY": KEY})
    assert done.code == 0, done.stderr
    results = [result for request in server.requests[1:] for result in request.results]
    assert sum("[redacted OPENAI_API_KEY]" in result for result in results) >= 5
    assert all(KEY not in result for result in results)
    assert KEY not in done.stdout
    assert KEY not in done.stderr
    for path in stored(bench):
        assert KEY.encode() not in path.read_bytes(), path
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(bench.store_path.parent.stat().st_mode) == 0o700


def stored(bench: Workbench) -> list[Path]:
    return [path for path in bench.store_path.parent.rglob("*") if path.is_file()]


def test_the_key_goes_to_the_server_it_is_for(bench: Workbench, server: ScriptedServer) -> None:
    server.add(say("Done."))
    bench.turn("hi", server, env={"OPENAI_API_KEY": KEY})
    assert server.last.headers["authorization"] == f"Bearer {KEY}"
