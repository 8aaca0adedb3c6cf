"""Write a snapshot into a git worktree of its own."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import anyio

from ...nodes.errors import UsageError
from ...tools.wording import count
from .git import Git, TreeError
from .snapshot import Snapshot
from .workspace import Repository


@dataclass(frozen=True)
class Target:
    """An absent or empty directory, and the place in it that stands for the user's working directory."""

    root: Path
    place: Path

    @classmethod
    def of(cls, into: Path, workdir: Path, repository: Repository) -> Target:
        """The place keeps its way from the top of the work tree; `into` may be relative to the process's directory."""
        return cls(Path.cwd() / into, workdir.resolve().relative_to(repository.root))

    def check(self, repository: Repository) -> None:
        """Raises `UsageError` for a directory that is in use or not the worktree's to have."""
        if self.root.is_symlink() or (self.root.exists() and not (self.root.is_dir() and not any(self.root.iterdir()))):
            raise UsageError(f"{self.root} is in use; name a directory that is absent or empty.")
        real = self.root.resolve()
        if any(real.is_relative_to(folder) for folder in (repository.own, repository.shared)):
            raise UsageError(f"{self.root} is in a git directory; name one outside.")


async def restore(shadow: Git, repository: Repository, snapshot: Snapshot, target: Target, index: Path) -> Path:
    """Make the worktree; `index` is a file that may be made.

    Raises:
        UsageError: the target is in use, or would show in the user's work tree.
        TreeError: objects are gone, or something cannot be written.
    """
    target.check(repository)
    await _check_hidden(shadow, repository, target)
    await _check_whole(shadow, repository, snapshot.commit)
    existed = target.root.exists()
    target.root.mkdir(mode=0o700, parents=True, exist_ok=existed)
    try:
        own = await _attach(repository, snapshot.head, target.root)
        files = shadow.on(target.root, index)
        await files.run("read-tree", snapshot.commit)
        await files.run("checkout-index", "--all", "--quiet")
        if snapshot.head:
            await _fill_index(own)
        return _stand_in(target)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await _undo(repository, target.root, existed)
        raise


async def _check_hidden(shadow: Git, repository: Repository, target: Target) -> None:
    real = target.root.resolve()
    if not real.is_relative_to(repository.root):
        return
    inside = f"{real.relative_to(repository.root)}/"
    git = shadow.on(repository.root, repository.own / "index")
    if (await git.attempt("check-ignore", "--quiet", "--no-index", "--", inside)).returncode:
        raise UsageError(f"{target.root} would show in the work tree {repository.root}; name a directory outside it.")


async def _check_whole(shadow: Git, repository: Repository, commit: str) -> None:
    found = await shadow.run("rev-list", "--objects", "--missing=print", commit)
    if missing := sum(line.startswith(b"?") for line in found.splitlines()):
        raise TreeError(f"it borrowed {count(missing, 'object')} from {repository.shared}, gone there since.")


async def _attach(repository: Repository, head: str | None, root: Path) -> Git:
    """Register a worktree without files or index; a repository without commits can have none, so one is made."""
    own = Git(root / ".git", root)
    if head is None:
        algorithm = f"--object-format={repository.algorithm}"
        await own.run("init", "--quiet", "--template=", "--initial-branch=main", algorithm)
    else:
        await Git(repository.shared, root).run("worktree", "add", "--quiet", "--detach", "--no-checkout", root, head)
    return own


async def _fill_index(own: Git) -> None:
    """Let the index be HEAD's, and what a sparse checkout leaves out not be missed."""
    await own.run("read-tree", "HEAD")
    sparse = await own.attempt("config", "--type=bool", "core.sparseCheckout")
    if sparse.stdout.strip() == b"true":
        await own.run("sparse-checkout", "reapply")


def _stand_in(target: Target) -> Path:
    place = target.root / target.place
    if not place.resolve().is_relative_to(target.root.resolve()):
        raise TreeError(f"{place} leads out of the worktree by a symbolic link.")
    place.mkdir(parents=True, exist_ok=True)
    return place


async def _undo(repository: Repository, root: Path, existed: bool) -> None:
    await Git(repository.shared, repository.shared).attempt("worktree", "remove", "--force", "--force", root)
    _empty(root, existed)


def _empty(root: Path, existed: bool) -> None:
    shutil.rmtree(root, ignore_errors=True)
    if existed:
        root.mkdir(mode=0o700, exist_ok=True)
