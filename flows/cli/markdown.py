"""Markdown for a terminal of any colours: lines that wrap, copy cleanly, and keep the model's words.

Loaded only where an answer goes to a terminal.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, cast

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, Paragraph, TableElement
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

WIDEST = 100

# HTML stays the text it is, and so does what only looks like a definition of a link.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("reference")
_PADDING = re.compile(r"(?: |\x1b\[[0-9;]*m)+$")
_AS_IT_IS = ("fence", "code_block")
# Attributes, and the one colour that can be read on black and on white alike.
_STYLES = {
    "code": "magenta",
    "block_quote": "italic",
    "h1": "bold underline",
    "h2": "bold underline",
    "h3": "bold",
    "h4": "bold italic",
    "h5": "italic",
    "h6": "italic",
    "item.bullet": "bold",
    "item.number": "bold",
    "hr": "dim",
    "table.header": "bold",
    "table.border": "dim",
}


def split(source: str) -> tuple[str, str]:
    """Markdown that nothing to come can change, and the rest: the last block, which may go on."""
    whole = source.rfind("\n") + 1
    starts = [token.map[0] for token in _PARSER.parse(source[:whole]) if token.level == 0 and token.map]
    if not starts or not starts[-1]:
        return "", source
    lines = source.splitlines(keepends=True)
    at = sum(len(line) for line in lines[: starts[-1]])
    return source[:at], source[at:]


class Renderer:
    """Turns Markdown into lines for one terminal, in its colours."""

    def __init__(self, terminal: Console) -> None:
        self._console = Console(
            file=io.StringIO(),
            width=WIDEST,
            force_terminal=True,
            color_system=cast(Any, terminal.color_system),
            no_color=terminal.no_color,
            theme=Theme({f"markdown.{name}": style for name, style in _STYLES.items()}),
            highlight=False,
            emoji=False,
            markup=False,
        )

    def render(self, source: str, columns: int) -> list[str]:
        """The lines of some blocks, with an empty one between any two. A line may be longer than the terminal."""
        lines: list[str] = []
        for block in _blocks(_PARSER.parse(source)):
            lines += [""] if lines else []
            lines += self._block(block, source, min(columns, WIDEST))
        return lines

    def _block(self, tokens: Sequence[Token], source: str, width: int) -> list[str]:
        first, stop = tokens[0].map or [0, 0]
        written = source.split("\n")[first:stop]
        if tokens[0].type in _AS_IT_IS or _too_narrow(tokens, width):
            return _without_blank_ends(written)
        with self._console.capture() as capture:
            overflow = "ignore" if tokens[0].type in ("paragraph_open", "heading_open") else "fold"
            self._console.print(_Document(tokens), width=width, overflow=overflow, crop=False)
        lines = [_unpadded(line) for line in capture.get().split("\n")]
        return _without_blank_ends(lines)


class _Code(CodeBlock):
    """Code inside a list or a quotation."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(str(self.text).rstrip("\n"), overflow="fold")


class _Paragraph(Paragraph):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return _wrapped(self.text, options)


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return _wrapped(self.text, options)


def _wrapped(text: Text, options: ConsoleOptions) -> Iterator[Text]:
    """Lines that break between words. A long word, such as an address, stays whole: the terminal breaks it.

    Inside a list or a quotation rich breaks it, for it would cut off what is too long for a line.
    """
    if options.overflow != "ignore":
        yield text
        return
    for line in text.split("\n", allow_blank=True):
        column, breaks = 0, list[int]()
        for word in re.finditer(r"\S+\s*|\s+", line.plain):
            if column and column + cell_len(word[0].rstrip()) > options.max_width:
                breaks.append(word.start())
                column = 0
            column += cell_len(word[0])
        yield from line.divide(breaks)


class _Table(TableElement):
    """A table that folds what does not fit into a cell."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, style="markdown.table.border")
        if self.header is not None and self.header.row is not None:
            for cell in self.header.row.cells:
                heading = cell.content.copy()
                heading.stylize("markdown.table.header")
                table.add_column(heading, overflow="fold", justify=cast(Any, cell.justify))
        for row in self.body.rows if self.body is not None else []:
            table.add_row(*(cell.content for cell in row.cells))
        yield table


class _Document(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "paragraph_open": _Paragraph,
        "fence": _Code,
        "code_block": _Code,
        "heading_open": _Heading,
        "table_open": _Table,
    }

    def __init__(self, tokens: Sequence[Token]) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = list(tokens)
        for token in self.parsed:
            token.children = token.children and list(_plainer(token.children))


def _blocks(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield block
            block = []


def _without_blank_ends(lines: list[str]) -> list[str]:
    shown = [number for number, line in enumerate(lines) if line.strip()]
    return lines[shown[0] : shown[-1] + 1] if shown else []


def _unpadded(line: str) -> str:
    """A line without the blanks at its end, which nobody wants to copy, styled ones neither."""
    bare = _PADDING.sub("", line)
    return f"{bare}\x1b[0m" if "\x1b" in bare and bare != line else bare


def _too_narrow(tokens: Sequence[Token], width: int) -> bool:
    """Whether a table has so many columns that its source reads better."""
    return tokens[0].type == "table_open" and sum(token.type == "th_open" for token in tokens) * 6 > width


def _plainer(tokens: Sequence[Token]) -> Iterator[Token]:
    """Inline text as models mean it: line ends end lines, underscores belong to names, addresses are shown."""
    address: list[str] = []
    label = ""
    for token in tokens:
        if token.type == "softbreak":
            yield Token("hardbreak", "br", 0)
        elif token.type in ("em_open", "em_close", "strong_open", "strong_close") and "_" in token.markup:
            yield _text(token.markup)
        elif token.type == "link_open":
            address.append(str(token.attrs.get("href", "")))
            label = ""
        elif token.type == "link_close":
            if (to := address.pop()) not in (label, f"mailto:{label}"):
                yield _text(f" ({to})")
        elif token.type == "image":
            yield _text(f"{token.content} ({token.attrs.get('src', '')})")
        else:
            label += token.content
            yield token


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
