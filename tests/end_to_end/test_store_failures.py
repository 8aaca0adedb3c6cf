"""A store that cannot be used is said in one sentence, with its path, and what it holds stays."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ..scripted.harness import Workbench, outline
from ..scripted.replies import call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end

LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.argv[2], sys.argv[2:])
"""


def a_directory(path: Path) -> None:
    path.mkdir(parents=True)


def no_database(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("my diary\n" * 1000)


def another_program(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")


@pytest.mark.parametrize("spoil", [a_directory, no_database, another_program])
def test_an_unusable_store(bench: Workbench, server: ScriptedServer, spoil: Callable[[Path], None]) -> None:
    spoil(bench.store_path)
    before = bench.store_path.read_bytes() if bench.store_path.is_file() else None
    assert_store_error(bench, server)
    assert before is None or bench.store_path.read_bytes() == before
    assert server.requests == []


def test_a_newer_store_and_a_damaged_one(bench: Workbench, server: ScriptedServer) -> None:
    server.add(say("Hello."))
    bench.turn("hi", server)
    assert bench.store_path.stat().st_mode & 0o777 == 0o600
    assert bench.store_path.parent.stat().st_mode & 0o777 == 0o700
    with closing(sqlite3.connect(bench.store_path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute("PRAGMA user_version = 7777")
    assert "7777" in assert_store_error(bench, server)
    with closing(sqlite3.connect(bench.store_path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    server.add(say("Still here."))
    assert bench.turn("hi", server, "--continue").code == 0
    assert server.last.roles == ["user", "assistant", "user"]

    whole = bench.store_path.read_bytes()
    bench.store_path.write_bytes(whole[:1000] + os.urandom(len(whole) - 1000))
    assert_store_error(bench, server, "--continue")


def test_a_full_disk_in_the_middle(bench: Workbench, server: ScriptedServer) -> None:
    """A reply cannot be written: the turn ends with the store's error; what was stored stays (T6-09)."""
    server.add(say("Hello."), calls(call("list_dir")), say("x" * 2_000_000))
    session = bench.turn("hi", server).document["session_id"]
    limit = str(bench.store_path.stat().st_size + 200_000)
    full = bench.turn("work", server, "--continue", wrapper=[sys.executable, "-c", LIMITED, limit])
    document = full.document
    assert (full.code, document["outcome"], document["answer"]) == (1, "internal_error", "")
    assert document["saved"] == bool(bench.log("end", document["turn_id"]))
    assert str(bench.store_path) in document["error"]["message"]
    assert outline(bench.history(session)) == [
        "user: hi",
        "text: Hello.",
        "user: work",
        "call: list_dir",
        "result: list_dir success",
        "cut off",
    ]
    server.add(say("Room again."))
    assert bench.turn("go on", server, "--continue").code == 0


def assert_store_error(bench: Workbench, server: ScriptedServer, *args: str) -> str:
    """One turn fails for the store, which is said once, with its path; the sentence."""
    done = bench.turn("hi", server, *args)
    assert (done.code, done.document["outcome"], done.document["saved"]) == (1, "internal_error", False)
    (line,) = done.stderr.splitlines()
    assert str(bench.store_path) in line
    return line
