"""`turngraph turn fork`: a turn tried differently from one of its visits on, on the files of then."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ..scripted.harness import Finished, Workbench, outline
from ..scripted.replies import call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end

WRITE = calls(call("write_file", path="made.txt", content="made\n"))


def git(folder: Path, *args: str) -> str:
    identity = {f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **identity}
    done = subprocess.run(["git", "-C", str(folder), *args], capture_output=True, text=True, check=True, env=env)
    return done.stdout


@pytest.fixture
def repository(bench: Workbench) -> Path:
    git(bench.workspace, "init", "--quiet")
    bench.write("kept.txt", "committed\n")
    git(bench.workspace, "add", ".")
    git(bench.workspace, "commit", "--quiet", "-m", "first")
    bench.write("kept.txt", "mine, not committed\n")
    return bench.workspace


def fork(bench: Workbench, turn: str, *args: str) -> Finished:
    return bench.run("turn", "fork", turn, *args, "--output", "json")


def workdir_of(bench: Workbench, turn: str) -> Path:
    return Path(bench.run("turn", "show", turn, "--output", "json").document["turn"]["workdir"])


def test_what_came_before_is_not_run_again(bench: Workbench, server: ScriptedServer) -> None:
    """The prefix costs no request; the original stays as it is."""
    server.add(calls(call("list_dir")), say("One."))
    first = bench.turn("work", server).document
    before = bench.history(first["session_id"])
    server.add(say("Another."))
    done = fork(bench, first["turn_id"], "--at", "6", "--model", "openai:other", "--here")
    assert done.code == 0, done.stderr
    document = done.document
    assert (document["answer"], document["iterations"]) == ("Another.", 2)
    assert len(server.requests) == 3
    assert server.last.body["model"] == "other"
    assert document["session_id"] != first["session_id"]
    lines = ["user: work", "call: list_dir", "result: list_dir success"]
    assert outline(bench.history(document["session_id"])) == [*lines, "text: Another."]
    assert bench.history(first["session_id"]) == before
    listed = bench.run("turn", "list", "--output", "json").document["turns"]
    assert [one["forked_from"] for one in listed] == [first["turn_id"], None]


def test_another_prompt(bench: Workbench, server: ScriptedServer) -> None:
    server.add(say("One."))
    turn = bench.turn("work", server).document["turn_id"]
    server.add(say("Two."))
    done = bench.run("turn", "fork", turn, "--at", "0", "--edit-prompt", "-", "--here", stdin="rest\n")
    assert (done.code, done.stdout) == (0, "Two.\n")
    assert server.last.prompts[0].endswith("rest\n")
    late = fork(bench, turn, "--at", "2", "--edit-prompt", "rest", "--here")
    assert (late.code, "--at 0" in late.stderr) == (2, True)


def test_the_files_of_then_in_a_worktree(bench: Workbench, server: ScriptedServer, repository: Path) -> None:
    """Before the write, and after it; what the user did since is neither there nor touched."""
    server.add(WRITE, say("Made."))
    turn = bench.turn("make it", server).document["turn_id"]
    bench.write("kept.txt", "mine, later\n")
    (repository / "made.txt").unlink()
    status = git(repository, "status", "--porcelain")
    server.add(say("Before."), say("After."))
    before = fork(bench, turn, "--at", "0")
    after = fork(bench, turn, "--at", "6", "--worktree", str(bench.root / "tree"))
    assert (before.code, after.code) == (0, 0), after.stderr + before.stderr
    then, there = (workdir_of(bench, one.document["turn_id"]) for one in (before, after))
    assert then.parent == bench.store_path.parent / "worktrees"
    assert there == bench.root / "tree"
    assert str(there) in after.stderr
    assert not (then / "made.txt").exists()
    assert (there / "made.txt").read_text() == "made\n"
    assert {(place / "kept.txt").read_text() for place in (then, there)} == {"mine, not committed\n"}
    assert (repository / "kept.txt").read_text() == "mine, later\n"
    assert git(repository, "status", "--porcelain") == status
    assert str(then) in str(server.requests[-2].messages[0])


def test_a_fork_that_cannot_begin_leaves_no_worktree(
    bench: Workbench, server: ScriptedServer, repository: Path
) -> None:
    server.add(say("One."))
    turn = bench.turn("work", server).document["turn_id"]
    done = fork(bench, turn, "--at", "0", "--swap", "execute=nobody")
    assert done.code == 2
    assert git(repository, "worktree", "list").count("\n") == 1
    assert list((bench.store_path.parent / "worktrees").iterdir()) == []


def test_files_that_were_not_recorded(bench: Workbench, server: ScriptedServer) -> None:
    """A fork that may change files says so first; one that only reads goes on."""
    server.add(say("One."))
    turn = bench.turn("work", server).document["turn_id"]
    for args in ((), ("--worktree", str(bench.root / "tree"))):
        refused = fork(bench, turn, "--at", "0", *args)
        assert refused.code == 2
        assert "not recorded" in refused.stderr
        assert "--here" in refused.stderr
    server.add(say("Two."))
    done = fork(bench, turn, "--at", "0", "--policy", "read-only")
    assert done.code == 0
    assert f"those of now, in {bench.workspace}" in done.stderr


@pytest.mark.parametrize(
    "args", [("--at", "99", "--here"), ("--at", "-1"), (), ("--at", "0", "--here", "--worktree", "x")]
)
def test_wrong_options(bench: Workbench, server: ScriptedServer, args: tuple[str, ...]) -> None:
    server.add(say("One."))
    turn = bench.turn("work", server).document["turn_id"]
    done = fork(bench, turn, *args)
    assert (done.code, done.document["outcome"], len(done.complaints)) == (2, "usage_error", 1)
