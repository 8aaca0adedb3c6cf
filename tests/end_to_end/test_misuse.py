"""What cannot be done is said in one sentence with exit code 2, and nothing runs."""

from __future__ import annotations

import pytest

from ..scripted.harness import Workbench
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--policy", "yolo"), ("policy", "yolo")),
        (("--max-iterations", "0"), ("max-iterations",)),
        (("--max-iterations", "many"), ("--max-iterations", "many")),
        (("--cwd", "/no/such/place"), ("/no/such/place",)),
        (("--model", "nosuch:thing", "--base-url", ""), ("nosuch",)),
        (("--model", "anthropic:claude", "--base-url", "http://127.0.0.1:9"), ("anthropic", "base")),
        (("--base-url", "not a url"), ("not a url",)),
        (("--session", "abcd", "--continue"), ("--session", "--continue")),
        (("--no-such-option",), ("--no-such-option",)),
    ],
)
def test_wrong_options(
    bench: Workbench, server: ScriptedServer, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    done = bench.turn("hi", server, *options)
    assert done.code == 2, done.stderr
    document = done.document
    assert (document["outcome"], document["exit_code"]) == ("usage_error", 2)
    (line,) = done.stderr.splitlines()
    assert line == f"turngraph: {document['error']['message']}"
    for word in words:
        assert word in line
    assert server.requests == []


def test_wrong_settings(bench: Workbench, server: ScriptedServer) -> None:
    """The file, the line and the column are named, with what was probably meant (T9-12)."""
    bench.settings.write_text('policy = "ask"\nmodle = "x"\n')
    done = bench.turn("hi", server)
    assert done.code == 2
    (line,) = done.stderr.splitlines()
    for word in (str(bench.settings), "line 2", "modle", "model"):
        assert word in line
    bench.settings.write_text("[bad name]\n")
    assert "line 1" in bench.turn("hi", server).stderr
    bench.settings.write_text("")
    wrong = bench.turn("hi", server, env={"TURNGRAPH_MAX_ITERATIONS": "lots"})
    assert (wrong.code, "TURNGRAPH_MAX_ITERATIONS" in wrong.stderr) == (2, True)


def test_a_missing_key_names_its_variable(bench: Workbench, server: ScriptedServer) -> None:
    done = bench.turn("hi", server, "--model", "anthropic:claude-sonnet-4-5", "--base-url", "")
    assert (done.code, "ANTHROPIC_API_KEY" in done.stderr) == (2, True)
    assert len(done.stderr.splitlines()) == 1
