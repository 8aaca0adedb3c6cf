"""The tool list_dir: what one directory holds."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from anyio import to_thread

from . import ripgrep
from .wording import count
from .workspace import Workspace, printable

LIMIT = 100


def tool(workspace: Workspace) -> Callable[..., Awaitable[str]]:
    """The tool, bound to a workspace."""

    async def list_dir(path: str = ".", include_ignored: bool = False) -> str:
        """List a directory: its subdirectories (ending in /) and files, sorted, dotfiles too.

        What .gitignore excludes is left out and counted; a directory it excludes can still be named in `path`. .git
        is never shown. At most 100 entries are shown.

        Args:
            path: The directory, relative to the workspace.
            include_ignored: Show what .gitignore excludes, too.
        """
        directory = workspace.directory(path)
        ripgrep.refuse_git(workspace, directory)
        with ripgrep.time_limit():
            files, problems = (set[str](), []) if include_ignored else await ripgrep.visible(directory)
        visible = {name.split("/", 1)[0] for name in files}
        entries, hidden = await to_thread.run_sync(_entries, directory, visible, include_ignored)
        lines = [f"[{workspace.display(directory)}: {count(len(entries), 'entry', 'entries')}]", *entries[:LIMIT]]
        if len(entries) > LIMIT:
            more = count(len(entries) - LIMIT, "more entry", "more entries")
            lines.append(f"[not shown: {more}; list them with glob]")
        if hidden:
            ignored = count(hidden, "entry", "entries")
            lines.append(f"[left out by .gitignore: {ignored}; include_ignored=true adds them]")
        return "\n".join([*lines, *problems])

    return list_dir


def _entries(directory: Path, visible: set[str], include_ignored: bool) -> tuple[list[str], int]:
    """The entries to show and the number of those that .gitignore hides.

    ripgrep lists only regular files, so symlinks, special files and directories without any file are judged here:
    they are shown.
    """
    shown: list[tuple[bool, str, str]] = []
    hidden = 0
    with os.scandir(directory) as scan:
        for entry in scan:
            if entry.name == ".git":
                continue
            is_directory = entry.is_dir(follow_symlinks=False)
            if not include_ignored and entry.name not in visible and _ignorable(entry):
                hidden += 1
                continue
            suffix = "/" if is_directory else _target(entry.path) if entry.is_symlink() else ""
            shown.append((not is_directory, entry.name, printable(entry.name) + suffix))
    return [text for _, _, text in sorted(shown)], hidden


def _ignorable(entry: os.DirEntry[str]) -> bool:
    if entry.is_dir(follow_symlinks=False):
        return any(files for _, _, files in os.walk(entry.path))
    return entry.is_file(follow_symlinks=False)


def _target(link: str) -> str:
    return f" -> {printable(os.readlink(link))}"  # noqa: PTH115
