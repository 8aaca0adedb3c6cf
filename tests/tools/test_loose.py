"""Edits whose old text does not stand in the file exactly: made where one place is meant, never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic_ai.exceptions import ToolFailed
from turngraph.tools import update_file
from turngraph.tools.loose import Placed, place
from turngraph.tools.workspace import Workspace

ENDS = "ignoring whitespace at the ends of lines"
INDENTATION = "ignoring indentation"
AROUND = "ignoring the whitespace around each line"
ANCHORS = "by its first and last line, with similar lines between"

LINES = st.lists(st.sampled_from(["a", "  b", "    c", "\td", "e ", "", "f(x)"]), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("before", "old", "new", "how", "after"),
    [
        ("a  \nb\t\nc\n", "a\nb\n", "a\nB\n", ENDS, "a  \nB\nc\n"),
        ("a\nb", "a\nb\n", "a\nc\n", ENDS, "a\nc"),
        ("\tif x:\n\t\ty\n\tz\n", "if x:\n\ty\n", "if x:\n\ty\n\tw\n", INDENTATION, "\tif x:\n\t\ty\n\t\tw\n\tz\n"),
        ("if x:\n  y\n", "    if x:\n      y", "    if x:\n      y\n    e:\n      w", INDENTATION,
         "if x:\n  y\ne:\n  w\n"),
        ("  a\n\n  b\n", "a\n\nb\n", "", INDENTATION, ""),
        ("    if x:\n        y\n", "\tif x:\n\t\ty", "\tif x:\n\t\tz", AROUND, "    if x:\n        z\n"),
        ("\tif x:\n\t\ty\n", "  if x:\n    y", "  if x:\n    y\n    z\n  w", AROUND, "\tif x:\n\t\ty\n\t\tz\n\tw\n"),
        ("def f():\n    # the old words here\n    g()\n    h()\n",
         "def f():\n    # the ancient words here\n    g()\n    h()",
         "def f():\n    # the ancient words here\n    g()\n    i()", ANCHORS,
         "def f():\n    # the old words here\n    g()\n    i()\n"),
        ("    s\r\n    t\r\nu\n", "s\nt\n", "s\nmore\nt\n", INDENTATION, "    s\r\n    more\r\n    t\r\nu\n"),
        ("x\n    s\n    t", "s\nt", "s\nt\nlast", INDENTATION, "x\n    s\n    t\n    last"),
        ("x\n    s\n    t\n", "s\nt", "first\ns\nt", INDENTATION, "x\n    first\n    s\n    t\n"),
        ("  it\u2019s\n  b\n", "it\u2019s\nb", "it's\nb", INDENTATION, "  it's\n  b\n"),
    ],
)  # fmt: skip
def test_the_one_place_is_edited_and_how_it_was_found_is_said(
    workspace: Workspace, root: Path, before: str, old: str, new: str, how: str, after: str
) -> None:
    """T5-07 too: what is written has the code points that were given."""
    (root / "f").write_bytes(before.encode())
    said = str(update_file.tool(workspace)("f", old, new).return_value)
    assert (root / "f").read_bytes() == after.encode()
    assert said.startswith(f"Edited f, matched {how}: line")
    assert "\n@@ " in said


def test_the_lines_are_named(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("one\ntwo\n  a\n  b\n")
    said = str(update_file.tool(workspace)("f", "a\nb", "a\nB").return_value)
    assert said.startswith("Edited f, matched ignoring indentation: lines 3-4.\n--- a/f\n+++ b/f\n@@ ")


@pytest.mark.parametrize(
    ("before", "old", "new", "why"),
    [
        ("  a\n  b\n\n    a\n    b\n", "a\nb", "a\nB", "2 times, from lines 1, 4"),
        ("a \nb\n\na\t\nb\n", "a\nb\n", "c\n", "2 times, from lines 1, 4"),
        ("\tif x:\n\t\ty\n", "  if x:\n    y", "  if x:\n    y\n      z", "how far to indent 'z'"),
        ("  a\n    b\n  c\n", "a\nb\nc", "a\nB\nc", "how far to indent 'B'"),
        ("start\n  v = 1\n  m\n  n\nend\n", "start\n  v = 2\n  m\n  n\nend", "start\n  v = 3\n  m\n  n\nend", ""),
        ("start\nwholly different\nmiddle\nend\n", "start\nxyz\nqq\nend", "start\nxyz\nqq\nEND", ""),
        ("start\n1\n2\nend\nstart\n1\n3\nend\n", "start\n1\n4\nend", "START\n1\n4\nend", "2 times"),
        ("a\n\n b\n", "\n\n\n", "x", ""),
        ("alpha\n  beta\n", "alpha\nbeta\n", "alpha\nbeta", ""),
        ("f( x )\n", "f(x)", "g(x)", "similar line is line 1"),
    ],
)  # fmt: skip
def test_nothing_is_guessed(workspace: Workspace, root: Path, before: str, old: str, new: str, why: str) -> None:
    (root / "f").write_text(before)
    with pytest.raises(ToolFailed, match="does not stand in f") as refused:
        update_file.tool(workspace)("f", old, new)
    assert why in str(refused.value)
    assert (root / "f").read_text() == before


def test_replacing_everywhere_needs_exact_places(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("  a\n  b\n")
    with pytest.raises(ToolFailed, match="lines 1-2 would match if whitespace were ignored"):
        update_file.tool(workspace)("f", "a\nb", "c", replace_all=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(LINES, LINES, st.data())
def test_an_edit_of_a_block_with_other_indentation_is_the_edit_of_that_block(
    lines: list[str], new: list[str], data: st.DataObject
) -> None:
    """Indenting a whole file and then editing it loosely is editing it exactly and then indenting it."""
    start = data.draw(st.integers(0, len(lines) - 1))
    stop = data.draw(st.integers(start + 1, len(lines)))
    old = lines[start:stop]
    assume(old != new and any(line.strip() for line in old))
    indented = ["    " + line if line.strip() else line for line in lines]
    text, before, after = ("".join(f"{line}\n" for line in some) for some in (indented, old, new))
    placed = place(text, before, after)
    assume(isinstance(placed, Placed) and placed.how == INDENTATION)
    assert isinstance(placed, Placed)
    for where, what in reversed(list(zip(placed.places, placed.texts, strict=True))):
        text = text[: where.start] + what + text[where.end :]
    expected = [*lines[: placed.first - 1], *new, *lines[placed.last :]]
    assert [line.strip() for line in text.split("\n")] == [line.strip() for line in [*expected, ""]]
    assert text.split("\n")[:-1] == ["    " + line if line.strip() else line for line in expected]
