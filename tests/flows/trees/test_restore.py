"""A snapshot becomes a worktree of its own, and nothing of the user's changes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import anyio
import pytest
from turngraph.flows.trees import TreeError, Trees
from turngraph.nodes.errors import UsageError

from .repositories import STATES, everything, files, git, in_state, mess_up, repository, status, uncommitted, write

pytestmark = pytest.mark.anyio


async def recorded(trees: Trees, root: Path) -> str:
    commit = await trees.snapshot(root)
    assert commit is not None
    return commit


@pytest.mark.parametrize("state", STATES)
async def test_the_user_s_repository_stays_as_it_is(tmp_path: Path, state: str) -> None:
    root = in_state(tmp_path / "user", state)
    trees = Trees(tmp_path / "trees")
    commit = await recorded(trees, root)
    held, changed, head = files(root), uncommitted(root), git(root, "rev-parse", "HEAD")
    write(root / "a", "edited since")
    write(root / "mine", "new since")
    before = everything(root)
    into = await trees.restore(commit, root, tmp_path / "into")
    assert everything(root) == before
    assert files(into) == held
    assert uncommitted(into) == changed | ({b"a"} if state == "assumed unchanged" else set())
    assert git(into, "rev-parse", "HEAD") == head
    assert git(into, "symbolic-ref", "--quiet", "HEAD", check=False) == b""
    assert git(into, "rev-parse", "--path-format=absolute", "--git-common-dir") == f"{root}/.git\n".encode()
    assert git(into, "diff", "--cached", "--name-only") == b""


async def test_commits_made_since_do_not_matter(tmp_path: Path) -> None:
    root = in_state(tmp_path / "user", "dirty")
    trees = Trees(tmp_path / "trees")
    commit, head = await recorded(trees, root), git(root, "rev-parse", "HEAD")
    held, changed = files(root), uncommitted(root)
    mess_up(root)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=since")
    into = await trees.restore(commit, root, tmp_path / "into")
    assert (files(into), uncommitted(into), git(into, "rev-parse", "HEAD")) == (held, changed, head)


async def test_before_the_first_commit_it_is_a_repository_of_its_own(tmp_path: Path) -> None:
    root = repository(tmp_path / "user")
    write(root / "a", "a")
    write(root / "sub" / "b", "b")
    git(root, "add", "a")
    trees = Trees(tmp_path / "trees")
    commit = await recorded(trees, root)
    held = files(root)
    mess_up(root)
    before = everything(root)
    into = await trees.restore(commit, root, tmp_path / "into")
    assert files(into) == held
    assert everything(root) == before
    assert git(into, "status", "--porcelain", "-uall") == b"?? a\n?? sub/b\n"
    assert git(into, "config", "core.worktree", check=False) == b""


async def test_the_directory_keeps_its_place(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a", "sub/deep/b": "b"})
    (root / "sub" / "empty").mkdir()
    trees = Trees(tmp_path / "trees")
    commit = await recorded(trees, root / "sub" / "deep")
    assert await trees.restore(commit, root / "sub" / "deep", tmp_path / "one") == tmp_path / "one" / "sub" / "deep"
    empty = await trees.restore(commit, root / "sub" / "empty", tmp_path / "two")
    assert empty == tmp_path / "two" / "sub" / "empty"
    assert empty.is_dir()


async def test_a_link_in_the_place_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    (root / "sub").symlink_to(tmp_path)
    trees = Trees(tmp_path / "trees")
    commit = await recorded(trees, root)
    (root / "sub").unlink()
    (root / "sub" / "deep").mkdir(parents=True)
    with pytest.raises(TreeError, match="leads out of the worktree"):
        await trees.restore(commit, root / "sub" / "deep", tmp_path / "into")
    assert not (tmp_path / "into").exists()
    assert not (tmp_path / "deep").exists()


async def test_a_linked_worktree_is_a_workspace_like_any_other(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    linked = tmp_path / "linked"
    git(root, "worktree", "add", "--quiet", "-b", "side", linked)
    write(linked / "a", "in the linked one")
    git(linked, "add", "a")
    write(root / "b", "in the main one")
    trees = Trees(tmp_path / "trees")
    commit = await recorded(trees, linked)
    before = everything(root), everything(linked)
    into = await trees.restore(commit, linked, tmp_path / "into")
    assert (everything(root), everything(linked)) == before
    assert files(into) == files(linked)
    again = await recorded(trees, into)
    assert files(await trees.restore(again, into, tmp_path / "again")) == files(linked)


async def test_a_sparse_checkout_stays_sparse(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a", "in/b": "b", "out/c": "c", "out/d": "d"})
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
    write(root / "in" / "b", "changed")
    (root / "a").unlink()
    trees = Trees(tmp_path / "trees")
    before = everything(root)
    into = await trees.restore(await recorded(trees, root), root, tmp_path / "into")
    assert everything(root) == before
    assert files(into) == files(root)
    assert uncommitted(into) == uncommitted(root) == {b"a", b"in/b"}


async def test_submodules_are_empty_directories(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    library = repository(tmp_path / "library", {"f": "f"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    git(root, "commit", "--quiet", "--message=lib")
    trees = Trees(tmp_path / "trees")
    into = await trees.restore(await recorded(trees, root), root, tmp_path / "into")
    assert list((into / "lib").iterdir()) == []
    assert uncommitted(into) == set()
    write(root / "lib" / "f", "changed")
    inner = await trees.restore(await recorded(trees, root / "lib"), root / "lib", tmp_path / "inner")
    assert files(inner) == {b"f": ("file", b"changed")}


async def test_what_was_staged_is_kept_when_the_user_s_repository_is_pruned(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    write(root / "sub" / "b", "staged once")
    git(root, "add", "sub/b")
    git(root, "stash")
    git(root, "stash", "apply", "--index")
    trees = Trees(tmp_path / "trees")
    commit = await recorded(trees, root)
    git(root, "stash", "drop")
    git(root, "rm", "--quiet", "--force", "sub/b")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "--quiet", "--prune=now")
    into = await trees.restore(commit, root, tmp_path / "into")
    assert (into / "sub" / "b").read_text() == "staged once"
    write(root / "sub" / "b", "staged once")
    assert await recorded(trees, root) == commit


async def test_what_was_borrowed_and_is_gone_is_counted_and_the_next_snapshot_is_whole(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a", "sub/b": "b"})
    trees = Trees(tmp_path / "trees")
    commit = await recorded(trees, root)
    held = files(root)
    write(root / "c", "c")
    changed = await recorded(trees, root)
    shutil.rmtree(root / ".git")
    repository(root)
    git(root, "commit", "--quiet", "--allow-empty", "--message=another")
    for lost, objects in {commit: "1 object", changed: "2 objects"}.items():
        with pytest.raises(TreeError, match=f"could not be restored: it borrowed {objects} from .*, gone there since"):
            await trees.restore(lost, root, tmp_path / "into")
    assert not (tmp_path / "into").exists()
    (root / "c").unlink()
    renewed = await recorded(trees, root)
    assert files(await trees.restore(renewed, root, tmp_path / "into")) == held


async def test_a_head_that_is_gone_leaves_nothing_behind(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    trees = Trees(tmp_path / "trees")
    commit = await recorded(trees, root)
    git(root, "commit", "--quiet", "--amend", "--message=rewritten")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "--quiet", "--prune=now")
    before = everything(root)
    (tmp_path / "into").mkdir()
    with pytest.raises(TreeError, match=r"could not be restored: git worktree said"):
        await trees.restore(commit, root, tmp_path / "into")
    assert list((tmp_path / "into").iterdir()) == []
    assert everything(root) == before
    assert git(root, "worktree", "list").count(b"\n") == 1


@pytest.mark.parametrize("command", ["worktree", "read-tree", "checkout-index"])
async def test_a_restore_that_is_cut_off_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    trees = Trees(tmp_path / "trees")
    commit = await recorded(trees, root)
    before = everything(root)
    real = shutil.which("git")
    slow = (
        f'#!/bin/sh\n"{real}" "$@" || exit\ncase " $* " in *" remove "*) ;; *" {command} "*) exec sleep 1000;; esac\n'
    )
    write(tmp_path / "bin" / "git", slow)
    (tmp_path / "bin" / "git").chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        with anyio.move_on_after(2) as scope:
            await trees.restore(commit, root, tmp_path / "into")
    assert scope.cancelled_caught
    assert not (tmp_path / "into").exists()
    assert not list((trees.git_dir / "scratch").iterdir())
    assert everything(root) == before
    assert git(root, "worktree", "list").count(b"\n") == 1


async def test_a_target_must_be_free(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a", ".gitignore": "trees\n"})
    trees = Trees(tmp_path / "trees")
    commit = await recorded(trees, root)
    write(tmp_path / "full" / "f", "f")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    before = everything(root)
    for taken in ("full", "full/f", "link"):
        with pytest.raises(UsageError, match="name a directory that is absent or empty"):
            await trees.restore(commit, root, tmp_path / taken)
    for inside in (root / "new", root / "new" / "deep"):
        with pytest.raises(UsageError, match="would show in the work tree"):
            await trees.restore(commit, root, inside)
    with pytest.raises(UsageError, match="in a git directory"):
        await trees.restore(commit, root, root / ".git" / "new")
    with pytest.raises(UsageError, match="in no git repository"):
        await trees.restore(commit, tmp_path, tmp_path / "new")
    assert everything(root) == before
    assert files(await trees.restore(commit, root, tmp_path / "empty")) == files(root)
    assert await trees.restore(commit, root, root / "trees" / "one") == root / "trees" / "one"
    assert status(root) == before["status"]


@pytest.mark.parametrize("commit", ["-x", "HEAD", "0" * 40, "0" * 64, ""])
async def test_an_unknown_snapshot_is_said_to_be_unknown(tmp_path: Path, commit: str) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    trees = Trees(tmp_path / "trees")
    with pytest.raises(TreeError, match="has no snapshot"):
        await trees.restore(commit, root, tmp_path / "into")
    await recorded(trees, root)
    with pytest.raises(TreeError, match="has no snapshot"):
        await trees.restore(commit, root, tmp_path / "into")
    assert not (tmp_path / "into").exists()
