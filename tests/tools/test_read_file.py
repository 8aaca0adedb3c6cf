from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.exceptions import ToolFailed
from turngraph.tools import page as paging
from turngraph.tools import read_file
from turngraph.tools.workspace import Workspace


def shown_lines(text: str) -> list[str]:
    return [match[1] for match in re.finditer(r"^ *\d+→(.*)$", text, re.MULTILINE)]


def test_lines_are_numbered_and_counted(workspace: Workspace, root: Path) -> None:
    (root / "a.py").write_text("x = 1\ny = 2\n")
    assert read_file.tool(workspace)("a.py") == "[a.py: lines 1-2 of 2]\n     1→x = 1\n     2→y = 2"


def test_pages_follow_each_other_to_the_end(workspace: Workspace, root: Path) -> None:
    lines = [f"line {n}" for n in range(1, 4_502)]
    (root / "big").write_text("\n".join(lines))
    read = read_file.tool(workspace)
    seen, offset = list[str](), 1
    while True:
        text = read("big", offset)
        seen += shown_lines(text)
        if not (more := re.search(r"continue with offset=(\d+)", text)):
            break
        offset = int(more[1])
    assert seen == lines
    assert "lines 1-2,000 of 4,501" in read("big")
    assert "2,501 more lines" in read("big")


def test_one_very_long_line_is_cut_with_the_rest_within_reach(workspace: Workspace, root: Path) -> None:
    """T5-13: a 1.7 MB single-line file never reads as empty."""
    content = "".join(f"{n:07d}é" for n in range(212_500))
    (root / "one.json").write_text(content)
    read = read_file.tool(workspace)
    text = read("one.json")
    assert content[:2_000] in text
    assert f"… [{len(content) - 2_000:,} more characters in this line: column=2001]" in text
    assert content[2_000:4_000] in read("one.json", column=2_001)
    assert shown_lines(read("one.json", column=len(content) - 4)) == [content[-5:]]
    assert f"only {len(content):,} characters" in read("one.json", column=len(content) + 1)


def test_a_page_is_bounded_and_says_so(workspace: Workspace, root: Path) -> None:
    (root / "wide").write_text(("x" * 1_999 + "\n") * 1_000)
    text = read_file.tool(workspace)("wide")
    assert len(text) < 102_000
    assert "The page is full" in text
    assert "continue with offset=51" in text


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x7fELF\0\0", "binary file of 6 bytes"),
        (b"\xff\xfe\xe9", "no valid text"),
        (b"\xff\xfe\x00\xd8", "no valid text"),
        ("a\0b".encode("utf-16"), "binary file of 8 bytes"),
    ],
)
def test_what_is_not_text_is_refused_with_its_size(workspace: Workspace, root: Path, content: bytes, what: str) -> None:
    (root / "f").write_bytes(content)
    with pytest.raises(ToolFailed, match=what):
        read_file.tool(workspace)("f")


def test_bytes_of_another_encoding_are_shown_and_said(workspace: Workspace, root: Path) -> None:
    (root / "latin").write_bytes("café\nok\n".encode("latin-1"))
    text = read_file.tool(workspace)("latin")
    assert "caf\\xe9" in text
    assert "not all UTF-8" in text
    assert "\ufffd" not in text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_marked_encodings_are_read_and_named(workspace: Workspace, root: Path, codec: str) -> None:
    (root / "f").write_bytes("\ufeffé\r\n😀\r\n".encode(codec))
    text = read_file.tool(workspace)("f")
    assert shown_lines(text) == ["é", "😀"]
    assert f"{codec[:6].upper()} (" in text
    assert "CRLF" in text


def test_bom_and_line_ends_are_said_and_not_shown(workspace: Workspace, root: Path) -> None:
    (root / "dos").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    assert read_file.tool(workspace)("dos") == (
        "[dos: lines 1-2 of 2, UTF-8 with BOM, CRLF line ends]\n     1→a\n     2→b"
    )
    (root / "mixed").write_bytes(b"a\r\nb\n")
    assert "mixed line ends" in read_file.tool(workspace)("mixed")


def test_empty_missing_directory_and_past_the_end(workspace: Workspace, root: Path) -> None:
    (root / "empty").touch()
    (root / "one").write_text("a\n")
    (root / "src").mkdir()
    read = read_file.tool(workspace)
    assert read("empty") == "[empty is empty: 0 lines]"
    with pytest.raises(ToolFailed, match=r"no file src/x; list_dir\('src'\)"):
        read("src/x")
    with pytest.raises(ToolFailed, match="is a directory; use list_dir"):
        read("src")
    with pytest.raises(ToolFailed, match="has 1 line, there is no line 3"):
        read("one", 3)


def test_a_file_too_big_to_count_says_at_least(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "COUNTED_BYTES", 100_000)
    (root / "huge").write_text("x\n" * 500_000)
    text = read_file.tool(workspace)("huge", 1, 10)
    assert "of at least" in text
    assert "continue with offset=11" in text
    with pytest.raises(ToolFailed, match="is more than"):
        read_file.tool(workspace)("huge", 400_000)
    (root / "line").write_text("x" * 500_000)
    assert "[at least " in read_file.tool(workspace)("line")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=30)))
def test_every_line_of_any_text_is_shown(workspace: Workspace, root: Path, lines: list[str]) -> None:
    (root / "any").write_bytes("".join(f"{line}\n" for line in lines).encode())
    page = read_file.tool(workspace)("any").split("\n")
    if lines:
        lines[0] = lines[0].removeprefix("\ufeff")
    assert [line.partition("→")[2] for line in page[1:]] == lines


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=300), st.integers(1, 5), st.integers(1, 5), st.integers(1, 5))
def test_any_bytes_read_or_are_refused(
    workspace: Workspace, root: Path, content: bytes, offset: int, limit: int, column: int
) -> None:
    (root / "any").write_bytes(content)
    try:
        read_file.tool(workspace)("any", offset, limit, column).encode()
    except ToolFailed:
        lines = len(content.removesuffix(b"\n").split(b"\n"))
        assert content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content or offset > lines
