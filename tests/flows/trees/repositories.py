"""Real git repositories for tests, and everything of one that a reader must leave as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

_ENVIRONMENT = {
    "GIT_AUTHOR_EMAIL": "user@example.org",
    "GIT_AUTHOR_NAME": "User",
    "GIT_COMMITTER_EMAIL": "user@example.org",
    "GIT_COMMITTER_NAME": "User",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
Files = dict[bytes, tuple[str, bytes]]


def git(directory: Path, *arguments: str | Path, check: bool = True, **variables: str) -> bytes:
    """What a git command of the user prints."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", "-c", "core.protectNTFS=false", "-C", directory, *arguments],
        check=check,
        capture_output=True,
        env={**inherited, **_ENVIRONMENT, **variables},
    ).stdout


def repository(directory: Path, files: dict[str, str] | None = None, *options: str) -> Path:
    """A repository whose first commit holds some files; without files there is no commit."""
    git(directory.parent, "init", "--quiet", "--initial-branch=main", *options, directory)
    for name, text in (files or {}).items():
        write(directory / name, text)
    if files:
        git(directory, "add", "--all", "--force")
        git(directory, "commit", "--quiet", "--message=first")
    return directory


def write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def files(directory: Path) -> Files:
    """Each file and link below a directory but git's own: its kind and its bytes, or where it leads."""
    found: Files = {}
    for folder, folders, names in os.walk(os.fsencode(directory)):
        if b".git" in folders:
            folders.remove(b".git")
        for name in names + [one for one in folders if os.path.islink(os.path.join(folder, one))]:  # noqa: PTH114, PTH118
            path = os.path.join(folder, name)  # noqa: PTH118
            shown = os.path.relpath(path, os.fsencode(directory))
            if os.path.islink(path):  # noqa: PTH114
                found[shown] = ("link", os.readlink(path))  # noqa: PTH115
            elif name != b".git":
                executable = os.lstat(path).st_mode & 0o100
                found[shown] = ("program" if executable else "file", Path(os.fsdecode(path)).read_bytes())
    return found


def status(directory: Path) -> bytes:
    return git(directory, "status", "--porcelain=v2", "--branch", "--untracked-files=all", "-z")


def uncommitted(directory: Path) -> set[bytes]:
    """Which files differ from HEAD, and those that are not tracked."""
    changed = git(directory, "diff", "--name-only", "--no-renames", "-z", "HEAD")
    others = git(directory, "ls-files", "-z", "--others", "--exclude-standard")
    return set(filter(None, (changed + others).split(b"\0")))


def everything(directory: Path) -> dict[str, object]:
    """Files with their times, and all in the git directory but the list of other worktrees."""
    shared = Path(os.fsdecode(git(directory, "rev-parse", "--path-format=absolute", "--git-common-dir")[:-1]))
    own = {
        str(path.relative_to(shared)): sha256(path.read_bytes()).hexdigest()
        for path in shared.rglob("*")
        if path.is_file() and path.relative_to(shared).parts[0] != "worktrees"
    }
    times = {
        os.fsdecode(name): os.lstat(os.path.join(os.fsencode(directory), name)).st_mtime_ns  # noqa: PTH118
        for name in files(directory)
    }
    return {
        "files": files(directory),
        "times": times,
        "git": own,
        "status": status(directory),
        "refs": git(directory, "for-each-ref", "--include-root-refs", check=False)
        or git(directory, "show-ref", check=False),
        "stash": git(directory, "stash", "list"),
    }


def _dirty(root: Path) -> None:
    write(root / "a", "changed")
    write(root / "new", "new")
    (root / "folder" / "b").unlink()


def _staged(root: Path) -> None:
    _dirty(root)
    git(root, "add", "--all")
    write(root / "a", "changed again")


def _conflicted(root: Path) -> None:
    git(root, "checkout", "--quiet", "-b", "other")
    write(root / "a", "theirs")
    git(root, "rm", "--quiet", "folder/b")
    git(root, "commit", "--quiet", "--all", "--message=theirs")
    git(root, "checkout", "--quiet", "main")
    write(root / "a", "ours")
    write(root / "folder" / "b", "ours")
    git(root, "commit", "--quiet", "--all", "--message=ours")
    git(root, "merge", "other", check=False)


def _stashed(root: Path) -> None:
    _dirty(root)
    git(root, "stash", "--include-untracked")
    _dirty(root)


def _detached(root: Path) -> None:
    git(root, "checkout", "--quiet", "--detach")
    _dirty(root)


def _assumed(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "a")
    _dirty(root)


def _intended(root: Path) -> None:
    _dirty(root)
    git(root, "add", "--intent-to-add", "new")


def _split(root: Path) -> None:
    for path in ("a", "c", "folder/b"):
        os.utime(root / path, (1e9, 1e9))
    git(root, "update-index", "--refresh")
    git(root, "update-index", "--split-index")
    assert (root / ".git" / "index").stat().st_size < 200
    _dirty(root)


STATES: dict[str, Callable[[Path], None]] = {
    "clean": lambda root: None,
    "dirty": _dirty,
    "staged": _staged,
    "conflicted": _conflicted,
    "stashed": _stashed,
    "detached": _detached,
    "assumed unchanged": _assumed,
    "intended to add": _intended,
    "with a split index": _split,
}


def in_state(directory: Path, state: str) -> Path:
    """A repository of which `a`, `folder/b` and `c` were committed, in one of `STATES`."""
    root = repository(directory, {"a": "a", "folder/b": "b", "c": "c"})
    STATES[state](root)
    return root


def mess_up(root: Path) -> None:
    """Change all that can be changed without git."""
    for entry in root.iterdir():
        if entry.name == ".git":
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    write(root / "other", "other")
