from __future__ import annotations

import difflib
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from turngraph.tools.diff import unified
from turngraph.tools.edit import disjoint, matches, near_miss, substitute

SMALL = st.text("ab\n", max_size=12)
MIXED = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "é"]), max_size=40).map("".join)


def patched(text: str, diff: str) -> str:
    """Apply a unified diff the way `patch` does, by its line numbers alone."""
    old = text.split("\n")
    tail = old.pop() if old[-1] == "" else None
    new: list[str] = []
    position = 0
    for line in diff.split("\n")[2:]:
        if header := re.match(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line):
            start = int(header[1]) - 1
            new += old[position:start]
            position = start
            assert len(new) == int(header[3]) - 1
        elif line.startswith("+"):
            new.append(line[1:])
        else:
            assert old[position].removesuffix("\r") == line[1:]
            if line.startswith(" "):
                new.append(old[position])
            position += 1
    del tail
    return "\n".join([*new, *old[position:]])


@given(SMALL, st.text("ab\n", min_size=1, max_size=4), SMALL)
def test_replacing_everywhere_is_str_replace_where_ends_are_plain(text: str, old: str, new: str) -> None:
    found = disjoint(matches(text, old))
    edited, _ = substitute(text, found, [new] * len(found))
    assert edited == text.replace(old, new)


@given(MIXED, st.text("ab\n", min_size=1, max_size=4), st.text("ab\n", max_size=6))
def test_line_ends_outside_the_edit_stay(text: str, old: str, new: str) -> None:
    found = matches(text, old)
    assume(found)
    edited, inserted = substitute(text, found[:1], [new])
    place = found[0]
    assert edited == text[: place.start] + inserted[0] + text[place.end :]
    assert inserted[0].replace("\r\n", "\n") == new
    assert text[place.start : place.end].replace("\r\n", "\n") == old


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=30), st.text("ab\n", min_size=1, max_size=4), SMALL)
def test_the_new_text_takes_the_line_ends_of_a_crlf_file(lines: list[str], old: str, new: str) -> None:
    text = "".join(f"{line}\r\n" for line in lines)
    found = matches(text, old)
    assume(found)
    edited, _ = substitute(text, found[:1], [new])
    assert "\n" not in edited.replace("\r\n", "")


@given(MIXED, st.text("ab\n", min_size=1, max_size=3), st.text("abc\n", max_size=8))
def test_the_diff_says_the_edit(text: str, old: str, new: str) -> None:
    places = disjoint(matches(text, old))
    assume(places)
    edited, inserted = substitute(text, places, [new] * len(places))
    assume(edited != text)
    diff = unified("f", text, places, inserted)
    assert patched(text, diff).replace("\r", "").rstrip("\n") == edited.replace("\r", "").rstrip("\n")


def test_a_simple_diff_is_the_usual_one() -> None:
    text = "".join(f"line {n}\n" for n in range(1, 31))
    places = [*matches(text, "line 5\n"), *matches(text, "line 25\n")]
    edited, inserted = substitute(text, places, ["new\nnewer\n"] * len(places))
    expected = difflib.unified_diff(text.splitlines(), edited.splitlines(), "a/f", "b/f", lineterm="")
    assert unified("f", text, places, inserted) == "\n".join(expected)


def test_lines_between_two_edits_of_a_hunk_are_context() -> None:
    text = "old\nkept\nold\n"
    places = matches(text, "old")
    _, inserted = substitute(text, places, ["new"] * len(places))
    assert unified("f", text, places, inserted).split("\n")[2:] == [
        "@@ -1,3 +1,3 @@",
        "-old",
        "+new",
        " kept",
        "-old",
        "+new",
    ]


def test_a_long_diff_is_cut_and_counted() -> None:
    text = "x\n" * 1_000
    places = matches(text, "x")
    _, inserted = substitute(text, places, ["y" * 1_000] * len(places))
    diff = unified("f", text, places, inserted)
    assert len(diff.split("\n")) == 201
    assert "1,803 more lines" in diff


def test_overlapping_places_are_all_counted() -> None:
    assert len(matches("aaa", "aa")) == 2
    assert len(disjoint(matches("aaaa", "aa"))) == 2
    assert len(matches("a\r\n\r\nb", "\n")) == 2


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("     2→  beta = 1", "leave out the line numbers"),
        ("beta  =  1", "line 2 would match if whitespace were ignored"),
        ("alpha\nbeta = 1", "lines 1-2 would match"),
        ("  betta = 1", "most similar line is line 2: '  beta = 1'"),
        ("zzzzzz", "no line is similar"),
    ],
)
def test_a_miss_says_what_is_near(old: str, hint: str) -> None:
    assert hint in near_miss("alpha\n  beta = 1\ngamma\n", old)
