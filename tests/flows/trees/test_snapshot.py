"""What a snapshot holds, and that it reads a user's repository without running or changing anything of it."""

from __future__ import annotations

import os
import random
import stat
import time
from pathlib import Path

import anyio
import pytest
from turngraph.flows.trees import TreeError, Trees, trees, workspace

from .repositories import STATES, everything, files, git, in_state, repository, write

pytestmark = pytest.mark.anyio


def held(trees: Trees, commit: str | None, root: Path) -> dict[str, str]:
    """Path and mode of everything in a snapshot of a repository."""
    assert commit is not None
    shadow = trees.git_dir / ("sha256" if len(commit) == 64 else "sha1")
    objects = os.fsdecode(git(root, "rev-parse", "--path-format=absolute", "--git-path", "objects")[:-1])
    listed = git(shadow, "ls-tree", "-r", "-z", commit, GIT_ALTERNATE_OBJECT_DIRECTORIES=objects).split(b"\0")
    lines = [os.fsdecode(line).partition("\t") for line in listed if line]
    return {path: known.split()[0] for known, _, path in lines}


@pytest.mark.parametrize("state", STATES)
async def test_the_user_s_repository_stays_as_it_is(tmp_path: Path, state: str) -> None:
    root = in_state(tmp_path / "user", state)
    before = everything(root)
    kept = Trees(tmp_path / "trees")
    commit = await kept.snapshot(root)
    assert everything(root) == before
    assert {os.fsencode(path) for path in held(kept, commit, root)} == set(files(root))


async def test_the_same_files_are_the_same_commit_and_a_change_is_another(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    kept = Trees(tmp_path / "trees")
    first = await kept.snapshot(root)
    assert await kept.snapshot(root) == first
    (root / "a").chmod(0o755)
    second = await kept.snapshot(root)
    assert second != first
    assert held(kept, second, root) == {"a": "100755"}


async def test_without_git_or_repository_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").mkdir()
    kept = Trees(tmp_path / "trees")
    assert await kept.snapshot(tmp_path / "plain") is None
    (tmp_path / "plain" / ".git").mkdir()
    assert await kept.snapshot(tmp_path / "plain") is None
    root = repository(tmp_path / "user", {"a": "a"})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await kept.snapshot(root) is None
    assert not kept.git_dir.exists()


async def test_the_trees_of_a_store_lie_beside_it_and_are_private(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    kept = Trees.of(tmp_path / "data" / "turns.db")
    await kept.snapshot(root)
    assert kept.git_dir == tmp_path / "data" / "turns.db.trees"
    assert stat.S_IMODE(kept.git_dir.stat().st_mode) == 0o700


async def test_nothing_of_the_repository_s_configuration_runs(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a", ".gitattributes": "* filter=evil diff=evil\n", "b": "b"})
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path / "ran"}\ncat\n')
    trap.chmod(0o755)
    kinds = ("clean", "smudge", "process")
    for name in (*(f"filter.evil.{kind}" for kind in kinds), "core.fsmonitor", "diff.evil.textconv", "core.sshCommand"):
        git(root, "config", name, str(trap))
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "post-commit"):
        (root / ".git" / "hooks").mkdir(exist_ok=True)
        (root / ".git" / "hooks" / hook).symlink_to(trap)
    write(root / "a", "changed")
    kept = Trees(tmp_path / "trees")
    commit = await kept.snapshot(root)
    assert commit is not None
    assert files(await kept.restore(commit, root, tmp_path / "into")) == files(root)
    assert not (tmp_path / "ran").exists()


async def test_another_repository_in_the_environment_does_not_mislead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    other = repository(tmp_path / "other", {"b": "b"})
    before = everything(other)
    for name, value in {"DIR": ".git", "INDEX_FILE": ".git/index", "WORK_TREE": "", "OBJECT_DIRECTORY": "x"}.items():
        monkeypatch.setenv(f"GIT_{name}", str(other / value))
    git(root, "config", "core.worktree", str(other))
    kept = Trees(tmp_path / "trees")
    assert held(kept, await kept.snapshot(root), root) == {"a": "100644"}
    git(root, "config", "--unset", "core.worktree")
    assert everything(other) == before


async def test_ignored_files_are_left_out_unless_they_are_tracked(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"log": "tracked", "sub/log": "tracked", "a": "a"})
    write(root / "later", "not yet ignored")
    kept = Trees(tmp_path / "trees")
    assert {"later", "log", "sub/log", "a"} == set(held(kept, await kept.snapshot(root), root))
    write(root / ".gitignore", "log\nlater\n")
    write(root / ".git" / "info" / "exclude", "private\n")
    write(root / "new" / "log", "ignored")
    write(root / "private", "ignored")
    assert {".gitignore", "log", "sub/log", "a"} == set(held(kept, await kept.snapshot(root), root))


async def test_the_store_is_no_part_of_the_workspace(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    kept = Trees.of(root / ".state" / "turns.db")
    for name in ("turns.db", "turns.db-wal", "note"):
        write(root / ".state" / name, "text")
    first = await kept.snapshot(root)
    assert set(held(kept, first, root)) == {"a", ".state/note"}
    write(root / ".state" / "turns.db", "more")
    assert await kept.snapshot(root) == first


async def test_the_whole_work_tree_is_recorded_from_a_directory_of_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a", "sub/b": "b"})
    (tmp_path / "way").symlink_to(root / "sub")
    kept = Trees(tmp_path / "trees")
    commit = await kept.snapshot(root)
    assert await kept.snapshot(root / "sub") == commit
    assert await kept.snapshot(tmp_path / "way") == commit


async def test_repositories_inside_are_noted_and_not_entered(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    library = repository(tmp_path / "library", {"f": "f"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "entered")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "empty")
    git(root, "submodule", "--quiet", "deinit", "--force", "empty")
    repository(root / "nested", {"f": "f"})
    write(repository(root / "fresh") / "f", "f")
    kept = Trees(tmp_path / "trees")
    commit = await kept.snapshot(root)
    modes = {".gitmodules": "100644", "a": "100644", "empty": "160000", "entered": "160000"}
    assert held(kept, commit, root) == modes
    assert commit is not None
    assert sorted(await kept.left_out(commit)) == ["repository fresh/", "repository nested/"]
    assert await kept.snapshot(root) == commit
    write(root / "entered" / "f", "changed")
    git(root / "entered", "commit", "--quiet", "--all", "--message=moved")
    moved = await kept.snapshot(root)
    assert moved != commit
    assert held(kept, moved, root) == modes
    inner = await kept.snapshot(root / "entered")
    assert held(kept, inner, root / "entered") == {"f": "100644"}


async def test_a_link_in_the_place_of_a_directory_is_not_followed(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a", "sub/b": "b", "gone/c": "c", "file": "f"})
    kept = Trees(tmp_path / "trees")
    await kept.snapshot(root)
    write(tmp_path / "outside" / "b", "secret")
    for name in ("sub", "gone"):
        (root / name).rename(tmp_path / name)
    (root / "sub").symlink_to(tmp_path / "outside")
    write(root / "gone", "a file now")
    (root / "file").unlink()
    (root / "file").mkdir()
    os.mkfifo(root / "pipe")
    assert held(kept, await kept.snapshot(root), root) == {"a": "100644", "gone": "100644", "sub": "120000"}


@pytest.mark.parametrize(
    "name", ["plain", "co:lon", 'quo"te', "new\nline", "back\\slash", "-dash", "ünï", os.fsdecode(b"\xff")], ids=ascii
)
async def test_a_repository_of_any_name_lends_its_objects(tmp_path: Path, name: str) -> None:
    root = repository(tmp_path / name, {"a": "a", "sub/b": "b"})
    kept = Trees(tmp_path / "trees")
    commit = await kept.snapshot(root)
    assert commit is not None
    assert [path for path in (kept.git_dir / "sha1" / "objects").rglob("*") if path.is_file()] == [
        kept.git_dir / "sha1" / "objects" / commit[:2] / commit[2:]
    ]
    assert files(await kept.restore(commit, root, tmp_path / "into" / name)) == files(root)


async def test_a_repository_of_sha256_is_recorded_in_its_kind(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"}, "--object-format=sha256")
    other = repository(tmp_path / "other", {"a": "a"})
    write(root / "b", "b")
    kept = Trees(tmp_path / "trees")
    commit = await kept.snapshot(root)
    assert commit is not None
    assert len(commit) == 64
    (root / "b").unlink()
    assert held(kept, await kept.snapshot(root), root) == held(kept, await kept.snapshot(other), other)
    assert set(files(await kept.restore(commit, root, tmp_path / "into"))) == {b"a", b"b"}


async def test_snapshots_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {f"sub{number}/f": str(number) for number in range(30)})
    write(root / "a", "a")
    made: list[str | None] = []

    async def snapshot() -> None:
        made.append(await Trees(tmp_path / "trees").snapshot(root))

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(snapshot)
    assert len(set(made)) == 1
    assert set(held(Trees(tmp_path / "trees"), made[0], root)) == {os.fsdecode(path) for path in files(root)}
    assert not list((tmp_path / "trees" / "scratch").iterdir())
    assert sorted(path.name for path in (tmp_path / "trees").iterdir()) == ["indexes", "scratch", "sha1"]


async def test_a_git_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nexec sleep 1000\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(trees, "SNAPSHOT_SECONDS", 0.3)
    with pytest.raises(TreeError, match=r"could not be recorded within 0\.3 s"):
        await Trees(tmp_path / "trees").snapshot(root)


async def test_untracked_data_sets_are_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tmp_path / "user", {"tracked": "x" * 100})
    monkeypatch.setattr(workspace, "LARGEST_UNTRACKED", 50)
    write(root / "data", "x" * 51)
    kept = Trees(tmp_path / "trees")
    with pytest.raises(TreeError, match=r"51 bytes, more than 50; let \.gitignore leave out .* such as data"):
        await kept.snapshot(root)
    write(root / ".gitignore", "data\n")
    assert set(held(kept, await kept.snapshot(root), root)) == {"tracked", ".gitignore"}


async def test_a_large_file_is_recorded(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    write(root / "large", random.Random(1).randbytes(1024) * 40 * 1024)
    kept = Trees(tmp_path / "trees")
    commit = await kept.snapshot(root)
    assert commit is not None
    assert files(await kept.restore(commit, root, tmp_path / "into")) == files(root)


async def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    kept = Trees(tmp_path / "trees")
    await kept.snapshot(root)
    for name, age in {"old": 7200, "busy": 60}.items():
        write(kept.git_dir / "scratch" / name / "index", "")
        then = time.time() - age
        os.utime(kept.git_dir / "scratch" / name, (then, then))
    await kept.snapshot(root)
    assert [path.name for path in (kept.git_dir / "scratch").iterdir()] == ["busy"]


async def test_a_broken_repository_is_an_error_with_git_s_own_words(tmp_path: Path) -> None:
    root = repository(tmp_path / "user", {"a": "a"})
    (root / ".git" / "index").write_bytes(b"nonsense")
    with pytest.raises(TreeError, match=r"could not be recorded: git ls-files said: .*index"):
        await Trees(tmp_path / "trees").snapshot(root)
