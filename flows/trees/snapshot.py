"""Write the files of a work tree into the shadow repository."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .git import Git
from .workspace import Listing, Repository, list_files

_HEAD = "Head: "
_LEFT_OUT = "Left out: "
_IGNORED = "Ignoring path "


@dataclass(frozen=True)
class Snapshot:
    """A commit of the shadow repository, and what its message says.

    `head` is the user's commit of then, `None` before the first; `left_out` is what was there and is not in it.
    """

    commit: str
    head: str | None
    left_out: list[str]

    @property
    def message(self) -> str:
        lines = [f"{_HEAD}{self.head or ''}", *(f"{_LEFT_OUT}{what}" for what in self.left_out)]
        return "\n".join(["The files of a work tree", "", *lines, ""])


async def read(shadow: Git, commit: str) -> Snapshot | None:
    """The snapshot of this id, where there is one."""
    done = await shadow.attempt("cat-file", "commit", commit)
    if done.returncode:
        return None
    lines = os.fsdecode(done.stdout).splitlines()
    head = next(line.removeprefix(_HEAD) for line in lines if line.startswith(_HEAD))
    left_out = [line.removeprefix(_LEFT_OUT) for line in lines if line.startswith(_LEFT_OUT)]
    return Snapshot(commit, head or None, left_out)


async def record(shadow: Git, repository: Repository, index: Path, store: Path) -> str:
    """Bring an index file up to date with a work tree, and return the commit of what it holds then.

    Only files that changed since the index was last written are read.

    Raises:
        TreeError: git could not list, read or write them.
    """
    found = await list_files(shadow, repository, store)
    git = shadow.on(repository.root, index)
    if changes := _changes(repository, found, await git.run("ls-files", "-z")):
        await git.run("update-index", "-z", "--add", "--replace", "--index-info", lines=changes)
    _, told = await git.heard(
        *("update-index", "-z", "--add", "--remove", "--replace", "--stdin"),
        lines=b"".join(path + b"\0" for path in (*found.files, *found.submodules)),
    )
    passed = [line.removeprefix(_IGNORED) for line in told if line.startswith(_IGNORED)]
    tree = (await git.run("write-tree")).decode().strip()
    snapshot = Snapshot("", repository.head, [*found.left_out, *passed])
    return (await git.run("commit-tree", tree, lines=os.fsencode(snapshot.message))).decode().strip()


def _changes(repository: Repository, found: Listing, known: bytes) -> bytes:
    """What of the index cannot be seen on the disk: entries to drop, and the commits of submodules."""
    zero = b"0" * (64 if repository.algorithm == "sha256" else 40)
    dropped = set(filter(None, known.split(b"\0"))) - found.paths
    lines = [b"0 %s 0\t%s\0" % (zero, path) for path in sorted(dropped)]
    lines += [b"160000 %s 0\t%s\0" % (commit, path) for path, commit in found.submodules.items()]
    return b"".join(lines)


async def keep(shadow: Git, commit: str, head: str | None) -> None:
    """Name a commit so that it stays, with a copy of what it borrows from elsewhere than the commit under HEAD.

    Raises:
        TreeError: some of its objects are gone, or cannot be written.
    """
    name = f"refs/turngraph/{commit}"
    if (await shadow.attempt("rev-parse", "--verify", "--quiet", name)).returncode == 0:
        return
    known = [f"^{head}^{{tree}}"] if head else []
    objects = await shadow.run("rev-list", "--objects", "--no-object-names", f"{commit}^{{tree}}", *known)
    alone = Git(shadow.directory, shadow.cwd, shadow.settings)
    found = await alone.run("cat-file", "--batch-check=%(objectname)", "--buffer", lines=objects)
    if borrowed := [line.split()[0] for line in found.splitlines() if line.endswith(b" missing")]:
        pack = shadow.directory / "objects" / "pack" / "pack"
        await shadow.run("pack-objects", "-q", pack, lines=b"".join(oid + b"\n" for oid in borrowed))
    await shadow.run("update-ref", name, commit)
