"""A shadow repository beside the store, which keeps the files of workspaces as commits."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from ...nodes.errors import UsageError
from .git import Git, TreeError, program, time_limit
from .restore import Target, restore
from .snapshot import Snapshot, keep, read, record
from .workspace import Repository, alternates, find_repository

SNAPSHOT_SECONDS = 60.0
RESTORE_SECONDS = 300.0

_SETTINGS = ("core.fileMode=true", "core.symlinks=true", "core.ignoreCase=false", "core.precomposeUnicode=false")
_AS_ON_DISK = "* -text !eol -ident -filter !working-tree-encoding\n"
"""Attributes that win over each .gitattributes, so that a file's bytes are never converted."""
_ABANDONED_SECONDS = 3600.0
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Trees:
    """Snapshots of the work trees of git repositories, as commits in bare repositories of turngraph's own.

    A user's repository is read and never written. What the commit under its HEAD holds is not copied but borrowed
    from there: it is lost with that commit, when the user's repository is deleted or has rewritten and then pruned
    it. Everything else of a snapshot is kept here. Empty directories, permissions other than the executable bit and
    what .gitignore leaves out are no part of a snapshot.
    """

    def __init__(self, git_dir: Path) -> None:
        """Nothing is made before the first snapshot; there is one repository for each kind of object id."""
        self.git_dir = Path(os.path.realpath(git_dir))

    @classmethod
    def of(cls, store_path: Path) -> Trees:
        """The trees of a store, in `<store>.trees`."""
        return cls(store_path.with_name(f"{store_path.name}.trees"))

    async def snapshot(self, workdir: Path) -> str | None:
        """Record the whole work tree that a directory lies in; the same files under the same HEAD are one commit.

        Files are recorded with the bytes that are on the disk, the tracked ones and those that .gitignore does not
        leave out, submodules with their commit. `None` where there is no git repository, or no git.

        Raises:
            TreeError: it cannot be recorded, or takes longer than a minute.
        """
        if shutil.which("git") is None:
            return None
        with self._explained(f"The files of {workdir} could not be recorded", SNAPSHOT_SECONDS):
            repository = await find_repository(workdir)
            return await self._record(repository) if repository else None

    async def left_out(self, commit: str) -> list[str]:
        """What a snapshot does not hold though it was there: repositories inside the work tree, unreadable files.

        Raises:
            TreeError: there is no such snapshot.
        """
        return (await self._read(commit)).left_out

    async def restore(self, commit: str, workdir: Path, into: Path) -> Path:
        """Make a git worktree at `into` with the files of a snapshot; returns `workdir`'s place in it.

        It is a worktree of the repository that holds `workdir`, detached at the HEAD of then, and what was not
        committed then is not committed in it. Before the first commit it is a repository of its own. Nothing of the
        user's own work tree, index or branches changes. A restore that fails leaves nothing behind.

        Raises:
            UsageError: `into` is not absent or empty, or would show in the user's work tree; `workdir` is in no
                git repository.
            TreeError: the snapshot is unknown, some of it was borrowed and is gone, or it cannot be written.
        """
        with self._explained(f"The files of snapshot {commit[:12]} could not be restored", RESTORE_SECONDS):
            repository = await find_repository(workdir)
            if repository is None:
                raise UsageError(f"{workdir} is in no git repository, so there is nothing to make a worktree of.")
            snapshot = await self._read(commit)
            shadow = await self._shadow(repository)
            target = Target.of(into, workdir, repository)
            with self._scratch() as scratch:
                return await restore(shadow, repository, snapshot, target, scratch / "index")

    async def _record(self, repository: Repository) -> str:
        shadow = await self._shadow(repository)
        kept = self.git_dir / "indexes" / sha256(os.fsencode(repository.root)).hexdigest()[:32]
        kept.parent.mkdir(exist_ok=True)
        with self._scratch() as scratch:
            index = scratch / "index"
            # With its time: git compares that with the files' to know which it must read again.
            with suppress(FileNotFoundError):
                shutil.copy2(kept, index)
            try:
                commit = await record(shadow, repository, index, self._store)
                await keep(shadow, commit, repository.head)
            except TreeError:
                # A file changed meanwhile, or what the index remembers was borrowed and is gone.
                index.unlink(missing_ok=True)
                commit = await record(shadow, repository, index, self._store)
                await keep(shadow, commit, repository.head)
            with suppress(FileNotFoundError):
                index.replace(kept)
        return commit

    @property
    def _store(self) -> Path:
        return self.git_dir.with_name(self.git_dir.name.removesuffix(".trees"))

    async def _shadow(self, repository: Repository) -> Git:
        """The repository for this kind of object id, made whole before it gets its name."""
        directory = self.git_dir / repository.algorithm
        excludes = f"core.excludesFile={repository.shared / 'info' / 'exclude'}"
        shadow = Git(directory, directory, (*_SETTINGS, excludes), alternates(repository))
        if directory.is_dir():
            return shadow
        self.git_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = Path(mkdtemp(dir=self.git_dir))
        try:
            await Git(made, made).run(
                "init", "--quiet", "--bare", "--template=", f"--object-format={repository.algorithm}"
            )
            (made / "info").mkdir(exist_ok=True)
            (made / "info" / "attributes").write_text(_AS_ON_DISK)
            _rename(made, directory)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return shadow

    async def _read(self, commit: str) -> Snapshot:
        directory = self.git_dir / ("sha256" if len(commit) == 64 else "sha1")
        known = _ID.fullmatch(commit) and directory.is_dir()
        if known and (snapshot := await read(Git(directory, directory), commit)):
            return snapshot
        raise TreeError(f"{self.git_dir} has no snapshot {commit}.")

    @contextmanager
    def _scratch(self) -> Generator[Path]:
        directory = self.git_dir / "scratch"
        directory.mkdir(exist_ok=True)
        for left in directory.iterdir():
            # A process that was killed left it.
            with suppress(FileNotFoundError):
                if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                    shutil.rmtree(left, ignore_errors=True)
        with TemporaryDirectory(dir=directory) as scratch:
            yield Path(scratch)

    @contextmanager
    def _explained(self, failed: str, seconds: float) -> Generator[None]:
        with time_limit(seconds, failed):
            try:
                program()
                yield
            except (TreeError, OSError) as error:
                raise TreeError(f"{failed}: {error}") from error


def _rename(made: Path, directory: Path) -> None:
    try:
        made.rename(directory)
    except OSError:
        # Another process was faster; its repository is as good.
        if not directory.is_dir():
            raise
