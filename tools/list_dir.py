"""The tool list_dir: what one directory holds."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from . import ripgrep
from .wording import count
from .workspace import Workspace, printable

LIMIT = 100


def tool(workspace: Workspace) -> Callable[..., Awaitable[str]]:
    """The tool, bound to a workspace."""

    async def list_dir(path: str = ".", include_ignored: bool = False) -> str:
        """List a directory: its subdirectories (ending in /) and files, sorted, dotfiles too.

        What .gitignore excludes is left out and counted, .git is never shown, at most 100 entries are shown.

        Args:
            path: The directory, relative to the workspace.
            include_ignored: Show what .gitignore excludes, too.
        """
        directory = workspace.directory(path)
        ripgrep.refuse_git(workspace, directory)
        found = await ripgrep.find(directory, include_ignored=include_ignored)
        visible = {name.split("/", 1)[0] for name in found.files}
        entries, hidden = _entries(directory, visible, include_ignored)
        lines = [f"[{workspace.display(directory)}: {count(len(entries), 'entry', 'entries')}]", *entries[:LIMIT]]
        if len(entries) > LIMIT:
            lines.append(
                f"[not shown: {count(len(entries) - LIMIT, 'more entry', 'more entries')}; list them with glob]"
            )
        if hidden:
            lines.append(
                f"[left out by .gitignore: {count(hidden, 'entry', 'entries')}; include_ignored=true adds them]"
            )
        return "\n".join([*lines, *found.problems])

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
            ignorable = _holds_files(entry.path) if is_directory else entry.is_file(follow_symlinks=False)
            if ignorable and entry.name not in visible and not include_ignored:
                hidden += 1
                continue
            suffix = "/" if is_directory else _target(entry.path) if entry.is_symlink() else ""
            shown.append((not is_directory, entry.name, printable(entry.name) + suffix))
    return [text for _, _, text in sorted(shown)], hidden


def _holds_files(directory: str) -> bool:
    return any(files for _, _, files in os.walk(directory))


def _target(link: str) -> str:
    return f" -> {printable(os.readlink(link))}"  # noqa: PTH115
