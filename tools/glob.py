"""The tool glob: files by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from pydantic import Field
from pydantic_ai.exceptions import ToolFailed

from . import ripgrep
from .order import Order, ordered
from .wording import count
from .workspace import Workspace

LIMIT = 5_000


def tool(workspace: Workspace) -> Callable[..., Awaitable[str]]:
    """The tool, bound to a workspace."""

    async def glob(
        pattern: str,
        path: str = ".",
        include_ignored: bool = False,
        order: Order = "path",
        limit: Annotated[int, Field(ge=1, le=LIMIT)] = LIMIT,
    ) -> str:
        """Find files by name, size or time of change.

        A pattern without a slash fits names at any depth (*.py); with a slash it fits the whole path below `path`
        (src/**/*.py). * and ? do not cross a slash, ** does, {a,b} and [a-z] work. Dotfiles are found like others.
        What .gitignore excludes is left out and counted, even where the pattern is the exact path; .git and
        symlinks are never listed. At most 5,000 paths are shown.

        Args:
            pattern: The pattern.
            path: The directory to search, relative to the workspace.
            include_ignored: Find files that .gitignore excludes, too.
            order: `size` puts the largest first and shows sizes, `modified` the one changed last, with times.
            limit: How many paths to show at most.
        """
        directory = workspace.directory(path)
        ripgrep.refuse_git(workspace, directory)
        wanted = relative_pattern(pattern, directory)
        with ripgrep.time_limit():
            found = await ripgrep.find(directory, glob=wanted, include_ignored=include_ignored)
        lines = [f"[{count(len(found.files), 'file')} found for {pattern!r} in {workspace.display(directory)}]"]
        entries, gone = await to_thread.run_sync(ordered, directory, found.files, order)
        shown = min(limit, LIMIT)
        lines += [label + workspace.display(directory / name) for name, label in entries[:shown]]
        if len(entries) > shown:
            lines.append(f"[not shown: {count(len(entries) - shown, 'more file')}; narrow the pattern or path]")
        return "\n".join([*lines, *gone, *ripgrep.hidden_note(found.hidden), *found.problems])

    return glob


def relative_pattern(pattern: str, directory: Path) -> str:
    """The pattern as it is matched below a directory: `./x` and the directory's absolute path are taken off.

    Raises:
        ToolFailed: the pattern is empty or leads out of the directory.
    """
    wanted = pattern.removeprefix(f"{directory}/").removeprefix("./")
    if not wanted or ".." in wanted.split("/"):
        raise ToolFailed(f"{pattern!r} is no pattern below the directory searched; name that directory in path.")
    return wanted
