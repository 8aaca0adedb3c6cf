from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.exceptions import ToolFailed
from turngraph.tools import read_file, write_file
from turngraph.tools import replace as replacing
from turngraph.tools.workspace import Workspace


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_the_content_is_written_exactly(workspace: Workspace, root: Path, content: str) -> None:
    """T5-07: no code point is altered."""
    write_file.tool(workspace)("f", content)
    assert (root / "f").read_bytes() == content.encode()


def test_it_says_what_was_written(workspace: Workspace, root: Path) -> None:
    write = write_file.tool(workspace)
    result = write("new/deep/é.txt", "a\nb")
    assert result.return_value == "Created new/deep/é.txt: 2 lines, 3 bytes."
    assert result.metadata == {"edited": ["new/deep/é.txt"]}
    assert str(write("new/deep/é.txt", "").return_value).startswith("Overwrote new/deep/é.txt: 0 lines, 0 bytes")


def test_a_new_file_follows_the_umask_and_an_old_one_keeps_its_mode(workspace: Workspace, root: Path) -> None:
    """T5-11."""
    (root / "probe").touch()
    write = write_file.tool(workspace)
    write("new", "x")
    assert (root / "new").stat().st_mode == (root / "probe").stat().st_mode
    (root / "new").chmod(0o751)
    write("new", "y")
    assert stat.S_IMODE((root / "new").stat().st_mode) == 0o751


def test_a_file_changed_since_it_was_read_is_not_overwritten(workspace: Workspace, root: Path) -> None:
    """T5-08."""
    (root / "f").write_text("v1")
    read, write = read_file.tool(workspace), write_file.tool(workspace)
    read("f")
    (root / "f").write_text("v2, by somebody else")
    with pytest.raises(ToolFailed, match="read it again"):
        write("f", "v3")
    assert (root / "f").read_text() == "v2, by somebody else"
    read("f")
    write("f", "v3")
    write("f", "v4")
    assert (root / "f").read_text() == "v4"


def test_what_may_not_be_written_is_refused(workspace: Workspace, root: Path) -> None:
    """T5-12 for the read-only file."""
    (root / "dir").mkdir()
    (root / "file").write_text("x")
    (root / "file").chmod(0o444)
    write = write_file.tool(workspace)
    with pytest.raises(ToolFailed, match="is a directory"):
        write("dir", "x")
    with pytest.raises(ToolFailed, match="mode 0444"):
        write("file", "y")
    with pytest.raises(ToolFailed, match="part of its path is a file"):
        write("file/below", "y")
    with pytest.raises(ToolFailed, match="lone surrogate"):
        write("new", "ok \ud83d")
    assert sorted(path.name for path in root.iterdir()) == ["dir", "file"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "f").write_text("old")

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(replacing.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_file.tool(workspace)("f", "new")
    monkeypatch.undo()
    assert [path.name for path in root.iterdir()] == ["f"]
    assert (root / "f").read_text() == "old"


def test_a_reader_keeps_the_whole_old_file(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("old")
    with (root / "f").open() as reader:
        write_file.tool(workspace)("f", "new")
        assert reader.read() == "old"


def test_extended_attributes_stay(workspace: Workspace, root: Path) -> None:
    """T5-12."""
    (root / "f").write_text("old")
    try:
        os.setxattr(root / "f", "user.origin", b"here")
    except (OSError, AttributeError):
        pytest.skip("the file system keeps no extended attributes")
    write_file.tool(workspace)("f", "new")
    assert os.getxattr(root / "f", "user.origin") == b"here"


def test_a_lost_bom_and_lost_line_ends_are_said(workspace: Workspace, root: Path) -> None:
    """T5-05 for whole files."""
    (root / "f").write_bytes(b"\xef\xbb\xbfa\r\n")
    text = str(write_file.tool(workspace)("f", "a\n").return_value)
    assert "BOM" in text
    assert "CRLF" in text
