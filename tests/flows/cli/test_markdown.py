"""An answer that streams to a terminal ends as if it had come at once, copies cleanly and loses no word."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from turngraph.flows.cli.markdown import Renderer, split
from turngraph.flows.cli.paper import MarkdownPaper, RawPaper, paper_for

from .emulator import Emulator

PIECES = st.sampled_from(
    [
        *[
            "# Title\n",
            "Some *text* with `code`, and __init__.py",
            "\n",
            "\n\n",
            "- item\n",
            "  - nested\n",
            "1. one\n",
        ],
        *[
            "```python\n",
            "x = [1,\n  2]   # long " + "y" * 120 + "\n",
            "```\n",
            "| a | b |\n|---|---|\n",
            "| 1 | 2 |\n",
        ],
        *[
            "> quoted\n",
            "    indented\n",
            "---\n",
            "<b>html</b>",
            "[link](http://x.y)",
            "漢字 " * 30,
            "[ref]: http://z\n",
        ],
        *["**bold", "**", "~~~\n", "word " * 40, "\t", "&amp; \\* ![i](u)", "* * *\n", "=\n", "line\n" * 40],
    ]
)
SOURCES = st.lists(PIECES, max_size=12).map("".join)


class Tty(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def console(stream: io.StringIO) -> Console:
    return Console(file=stream)


def written(chunks: list[str]) -> Emulator:
    stream = Tty()
    paper = MarkdownPaper(stream, console(stream))
    emulator = Emulator()
    for chunk in chunks:
        paper.add(chunk)
    paper.settle()
    emulator.feed(stream.getvalue())
    return emulator


@given(SOURCES, st.lists(st.integers(1, 60), min_size=1, max_size=10))
@settings(max_examples=80, deadline=None)
def test_what_streamed_stands_as_if_it_had_come_at_once(source: str, sizes: list[int]) -> None:
    """However it was cut, also where it is longer than the screen: nothing twice, nothing half."""
    chunks: list[str] = []
    rest = source
    while rest:
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(rest[:size])
        rest = rest[size:]
    assert written(chunks).rows() == written([source] if source else []).rows()


@given(SOURCES)
@settings(max_examples=80, deadline=None)
def test_a_split_keeps_the_text_and_changes_no_block(source: str) -> None:
    finished, rest = split(source)
    assert finished + rest == source
    render = Renderer(console(Tty())).render
    first, second = render(finished, 80), render(rest, 80)
    assert [*first, *([""] if first and second else []), *second] == render(source, 80)


@given(SOURCES)
@settings(max_examples=80, deadline=None)
def test_no_word_is_lost(source: str) -> None:
    emulator = written([source])
    shown = re.sub(r"[\s▌]", "", emulator.copied())  # a quotation's mark stands before each of its lines
    for word in re.findall(r"[A-Za-z漢字]{3,}", re.sub(r"[&]amp;", "", source)):
        assert word in shown


def test_code_is_copied_as_it_was_written() -> None:
    code = "def f():\n    return [" + "1, " * 60 + "]\n\n\n    # end\n"
    answer = f"Here:\n\n```python\n{code}```\n"
    assert written(list(answer)).copied() == f"{answer}\n"


def test_a_code_block_longer_than_the_screen_is_whole() -> None:
    code = "".join(f"line {number}\n" for number in range(500))
    rows = written([f"```\n{code}"[at : at + 50] for at in range(0, len(code) + 4, 50)] + ["```\nafter"]).rows()
    assert rows == ["```", *code.splitlines(), "```", "", "after", ""]


def test_words_are_what_the_model_wrote() -> None:
    copied = written(["see __init__.py and [docs](http://x/y)\nnext <i>line</i> http://" + "a" * 100 + " end"]).copied()
    assert copied == "see __init__.py and docs (http://x/y)\nnext <i>line</i>\nhttp://" + "a" * 100 + "\nend\n\n"


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_tables_and_lists_fit(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Tty()
    paper = MarkdownPaper(stream, console(stream))
    paper.add("| name | what it does |\n|---|---|\n| a | " + "word " * 40 + "|\n\n- " + "item " * 40 + "\n")
    paper.settle()
    emulator = Emulator(columns)
    emulator.feed(stream.getvalue())
    assert all(len(row) <= columns for row in emulator.rows())
    assert emulator.copied().count("word") == emulator.copied().count("item") == 40
    assert emulator.copied() == "\n".join(emulator.rows()) + "\n"
    assert not any(row.endswith(" ") for row in emulator.rows())


def test_only_two_colours_and_no_background() -> None:
    stream = Tty()
    paper = MarkdownPaper(stream, console(stream))
    paper.add("# T\n`c` **b** *i* [l](u)\n\n> q\n\n| a |\n|---|\n| 1 |\n\n---\n\n1. x\n\n```py\nx\n```\n")
    paper.settle()
    used = {int(code) for codes in re.findall(r"\x1b\[([0-9;]+)m", stream.getvalue()) for code in codes.split(";")}
    assert used <= {0, 1, 2, 3, 4, 9, 35}


@pytest.mark.parametrize(
    ("env", "encoding", "markdown"),
    [
        ({}, "utf-8", True),
        ({"TERM": "dumb"}, "utf-8", False),
        ({}, "cp1252", False),
        ({"NO_COLOR": "1"}, "utf-8", True),
    ],
)
def test_where_markdown_is_drawn(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], encoding: str, markdown: bool
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    stream = Tty()
    monkeypatch.setattr(Tty, "encoding", encoding)
    kind = MarkdownPaper if markdown else RawPaper
    assert isinstance(paper_for(stream, console(stream), markdown=True), kind)
    assert isinstance(paper_for(stream, console(stream), markdown=False), RawPaper)
    assert isinstance(paper_for(io.StringIO(), console(io.StringIO()), markdown=True), RawPaper)


@given(st.lists(st.text("abcdefgh漢", min_size=1, max_size=30), min_size=1, max_size=40))
def test_a_paragraph_breaks_between_words(words: list[str]) -> None:
    rows = written([" ".join(words) + "\n"]).rows()
    assert " ".join(row for row in rows if row) == " ".join(words)
    assert all(cell_len(row) <= 80 for row in rows)
