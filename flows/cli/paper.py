"""Where the answer is written: as it is, or as Markdown that is redrawn until it is final."""

from __future__ import annotations

from typing import Protocol, TextIO

from rich.console import Console

from .region import Region
from .terminal import encodable, plain, size_of

_LONGEST_LIVE = 8_000
"""Characters of one block that are rendered again and again; of a longer one the source is shown meanwhile."""


class Paper(Protocol):
    def add(self, text: str) -> None:
        """Write more of a text."""
        ...

    def settle(self) -> None:
        """Make all that was written final, with the cursor at the beginning of a line."""
        ...


class RawPaper:
    """Writes text as it comes, without its control characters; dimmed on a console that is given."""

    def __init__(self, stream: TextIO, dim: Console | None = None) -> None:
        self._stream = stream
        self._dim = dim
        self._mid_line = False

    def add(self, text: str) -> None:
        if self._dim is None:
            self._stream.write(plain(text))
            self._stream.flush()
        else:
            self._dim.print(plain(text), style="dim", end="")
        self._mid_line = not text.endswith("\n")

    def settle(self) -> None:
        if self._mid_line:
            self._stream.write("\n")
            self._stream.flush()
            self._mid_line = False


class MarkdownPaper:
    """Writes finished blocks once; only the last block, which may go on, is redrawn."""

    def __init__(self, stream: TextIO, terminal: Console) -> None:
        from .markdown import Renderer, split

        self._render = Renderer(terminal).render
        self._split = split
        self._region = Region(stream)
        self._open = ""
        self._begun = False

    def add(self, text: str) -> None:
        self._open += plain(text)
        if "\n" in text:
            finished, self._open = self._split(self._open)
            if finished.strip():
                self._leave(finished)
        if self._open.strip():
            self._region.draw(self._between() + self._live())

    def settle(self) -> None:
        if self._open.strip():
            self._leave(self._open)
        self._open = ""
        self._begun = False

    def _leave(self, source: str) -> None:
        self._region.leave(self._between() + self._render(source, self._region.columns))
        self._begun = True

    def _between(self) -> list[str]:
        return [""] if self._begun else []

    def _live(self) -> list[str]:
        if len(self._open) > _LONGEST_LIVE:
            return self._open[-_LONGEST_LIVE:].split("\n")
        return self._render(self._open, self._region.columns)


def paper_for(stream: TextIO, terminal: Console, *, markdown: bool) -> Paper:
    """The paper that suits a stream: rendered Markdown needs a terminal that moves its cursor and has Unicode."""
    if markdown and stream.isatty() and not terminal.is_dumb_terminal and encodable("•─", stream):
        return MarkdownPaper(stream, terminal)
    return RawPaper(stream)


def console_on(stream: TextIO) -> Console:
    """A console that styles text and takes none of it for markup."""
    console = Console(file=stream, markup=False, highlight=False, emoji=False, soft_wrap=True)
    if console.width < 1:  # COLUMNS=0, with which rich would print nothing at all
        console.width = size_of(stream)[0]
    return console
