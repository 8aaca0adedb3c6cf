"""Where a git repository is, and what in it is git's own: read through git and never written."""

from __future__ import annotations

from pathlib import Path


def repository_of(directory: Path) -> Path | None:
    """The root of the git repository that a directory lies in."""
    return next((folder for folder in (directory, *directory.parents) if (folder / ".git").exists()), None)


def belongs_to_git(path: Path, root: Path) -> bool:
    """Whether a real path below a root is `.git`, lies in it, or lies in a bare or separate git directory.

    A file written there (a hook, a config with `core.fsmonitor`, a `.git` file that names another directory) is run by
    the next git command, so it would turn a write into an execution.
    """
    parts = path.relative_to(root).parts
    if any(part.casefold() == ".git" for part in parts):
        return True
    return any(_is_git_directory(root.joinpath(*parts[:depth])) for depth in range(len(parts)))


def _is_git_directory(directory: Path) -> bool:
    return all((directory / name).exists() for name in ("HEAD", "objects", "refs"))
