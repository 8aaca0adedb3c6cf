"""The tool read_file: a page of a text file, with line numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from .page import Page, read_page
from .version import Version
from .wording import count
from .workspace import Workspace

PAGE_LINES = 2_000


def tool(workspace: Workspace) -> Callable[..., str]:
    """The tool, bound to a workspace."""

    def read_file(
        path: str,
        offset: Annotated[int, Field(ge=1)] = 1,
        limit: Annotated[int, Field(ge=1, le=PAGE_LINES)] = PAGE_LINES,
        column: Annotated[int, Field(ge=1)] = 1,
    ) -> str:
        """Read a text file, one page at a time.

        Each line is shown as its number, an arrow and its text. A line is cut after 2,000 characters and a page
        after 100,000; what was cut is said. UTF-16 with a byte order mark is read too; other bytes that are not UTF-8
        are shown as \\xNN.

        Args:
            path: The file, relative to the workspace.
            offset: The number of the first line to show, counted from 1.
            limit: How many lines to show at most.
            column: The first character of each line to show, counted from 1; it reaches the rest of a long line.
        """
        real, file = workspace.open(path)
        with file:
            version = Version.of(file)
            page = read_page(file, workspace.display(real), offset, limit, column)
        workspace.saw(real, version)
        return _show(workspace.display(real), page, column)

    return read_file


def _show(name: str, page: Page, column: int) -> str:
    if page.total == 0:
        return f"[{name} is empty: 0 lines]"
    first, last = page.first, page.first + len(page.lines) - 1
    total = f"{page.total:,}" if page.counted else f"at least {page.total:,}"
    traits = "".join(f", {trait}" for trait in page.traits)
    start = f", from character {column:,}" if column > 1 else ""
    parts = [f"[{name}: lines {first:,}-{last:,} of {total}{start}{traits}]"]
    parts += [f"{first + index:>6}→{line}" for index, line in enumerate(page.lines)]
    if last < page.total or not page.counted:
        why = "The page is full. " if page.full else ""
        more = count(page.total - last, "more line") if page.counted else "more lines"
        parts.append(f"[{why}To follow: {more}; continue with offset={last + 1}]")
    return "\n".join(parts)
