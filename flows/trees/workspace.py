"""What a user's repository says about a workspace; it is read as data and never written."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from anyio import to_thread

from ...tools.gitdir import repository_of
from ...tools.workspace import printable
from .git import Git, TreeError

LARGEST_UNTRACKED = 1024**3
"""Bytes of untracked files together; more is a data set that .gitignore forgot, and would be copied."""

_GITLINK = b"160000"
_ASKED = (
    *("rev-parse", "--absolute-git-dir", "--show-object-format"),
    *("--path-format=absolute", "--git-common-dir", "HEAD"),
)
_TOLD = re.compile(rb"\A(.*)\n(sha1|sha256)\n(.*)\n([0-9a-f]{40,64}|HEAD)\n\Z", re.DOTALL)


@dataclass(frozen=True)
class Repository:
    """The repository that a workspace lies in.

    `root` is the top of the work tree, `own` the git directory of this work tree, `shared` that of all its work
    trees; `head` is `None` before the first commit.
    """

    root: Path
    own: Path
    shared: Path
    algorithm: str
    head: str | None


async def find_repository(workdir: Path) -> Repository | None:
    """The innermost git repository whose work tree holds a directory.

    The place of `.git` decides, so that no setting of the repository can name another work tree.

    Raises:
        TreeError: git cannot read the repository.
    """
    folder = _above(workdir)
    while folder is not None:
        told = await Git(folder / ".git", folder).attempt(*_ASKED)
        if match := _TOLD.match(told.stdout):
            own, algorithm, shared, head = map(os.fsdecode, match.groups())
            return Repository(folder, Path(own), Path(shared), algorithm, None if head == "HEAD" else head)
        if b"not a git repository" not in told.stderr:
            raise TreeError(f"git cannot read {folder}: {told.stderr.decode(errors='backslashreplace').strip()}")
        folder = _above(folder.parent) if folder.parent != folder else None
    return None


def _above(directory: Path) -> Path | None:
    return repository_of(directory.resolve())


def alternates(repository: Repository) -> dict[str, str]:
    """The variable that lets git read the repository's objects as if they were in another one."""
    escaped = str(repository.shared / "objects").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{escaped}"'}


@dataclass(frozen=True)
class Listing:
    """What of a work tree is recorded: paths of files and links, submodules with their commits, what is left out."""

    files: list[bytes] = field(default_factory=list[bytes])
    submodules: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    left_out: list[str] = field(default_factory=list[str])

    @property
    def paths(self) -> set[bytes]:
        return {*self.files, *self.submodules}


async def list_files(shadow: Git, repository: Repository, store: Path) -> Listing:
    """What of a work tree is tracked, or untracked and not left out by .gitignore or the repository's own excludes.

    What begins with the store's path is the store's own and no part of the workspace.

    Raises:
        TreeError: git cannot list the files, or the untracked ones are too large.
    """
    listed, warnings = await shadow.on(repository.root, repository.own / "index").heard(
        "ls-files", "-z", "-t", "--stage", "--cached", "--others", "--exclude-standard"
    )
    return await to_thread.run_sync(_on_disk, repository.root, listed, warnings, store)


def _on_disk(root: Path, listed: bytes, warnings: list[str], store: Path) -> Listing:
    found = Listing(left_out=warnings)
    sizes: dict[bytes, int] = {}
    base, ours = os.fsencode(root) + b"/", os.fsencode(store)
    is_folder = _folders(base)
    for path, mode in dict(_entries(listed)).items():
        if mode is None and (base + path).startswith(ours):
            continue
        if path.endswith(b"/"):
            found.left_out.append(f"repository {printable(os.fsdecode(path))}")
            continue
        status = _status(base + path) if is_folder(path.rpartition(b"/")[0]) else None
        if status is None:
            continue
        if stat.S_ISDIR(status.st_mode):
            if mode is not None and mode.startswith(_GITLINK):
                found.submodules[path] = mode.split()[1]
        elif stat.S_ISREG(status.st_mode) and not os.access(base + path, os.R_OK):
            found.left_out.append(f"unreadable {printable(os.fsdecode(path))}")
        elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            found.files.append(path)
            if mode is None:
                sizes[path] = status.st_size
    _refuse_large(sizes)
    return found


def _entries(listed: bytes) -> Iterable[tuple[bytes, bytes | None]]:
    """Each path, with mode and object where it is tracked."""
    for entry in filter(None, listed.split(b"\0")):
        tag, _, rest = entry.partition(b" ")
        if tag == b"?":
            yield rest, None
        else:
            known, _, path = rest.partition(b"\t")
            yield path, known


def _folders(base: bytes) -> Callable[[bytes], bool]:
    """Whether a directory of the index is one on the disk: a link in its place leads out of the work tree."""

    @cache
    def is_folder(path: bytes) -> bool:
        if not path:
            return True
        status = _status(base + path) if is_folder(path.rpartition(b"/")[0]) else None
        return status is not None and stat.S_ISDIR(status.st_mode)

    return is_folder


def _status(path: bytes) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _refuse_large(sizes: dict[bytes, int]) -> None:
    total = sum(sizes.values())
    if total > LARGEST_UNTRACKED:
        largest = max(sizes, key=sizes.__getitem__)
        raise TreeError(
            f"the untracked files have {total:,} bytes, more than {LARGEST_UNTRACKED:,}; let .gitignore leave out "
            f"what is data, such as {printable(os.fsdecode(largest))} ({sizes[largest]:,} bytes)."
        )
