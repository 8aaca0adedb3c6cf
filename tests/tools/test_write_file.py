from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.exceptions import ToolFailed
from turngraph.tools import read_file, update_file, write_file
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
    read_file.tool(workspace)("f")
    with pytest.raises(OSError, match="No space"):
        write_file.tool(workspace)("f", "new")
    monkeypatch.undo()
    assert [path.name for path in root.iterdir()] == ["f"]
    assert (root / "f").read_text() == "old"


def test_a_reader_keeps_the_whole_old_file(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("old")
    with (root / "f").open() as reader:
        read_file.tool(workspace)("f")
        write_file.tool(workspace)("f", "new")
        assert reader.read() == "old"


def test_extended_attributes_stay(workspace: Workspace, root: Path) -> None:
    """T5-12."""
    (root / "f").write_text("old")
    try:
        os.setxattr(root / "f", "user.origin", b"here")
    except (OSError, AttributeError):
        pytest.skip("the file system keeps no extended attributes")
    read_file.tool(workspace)("f")
    write_file.tool(workspace)("f", "new")
    assert os.getxattr(root / "f", "user.origin") == b"here"


def test_a_lost_bom_and_lost_line_ends_are_said(workspace: Workspace, root: Path) -> None:
    """T5-05 for whole files."""
    (root / "f").write_bytes(b"\xef\xbb\xbfa\r\n")
    read_file.tool(workspace)("f")
    text = str(write_file.tool(workspace)("f", "a\n").return_value)
    assert "The old file was UTF-8 with BOM, the new one is UTF-8 without BOM." in text
    assert "CRLF" in text


@pytest.mark.parametrize(
    ("before", "said"),
    [("é".encode("utf-16"), "was UTF-16 (little-endian), the new one is UTF-8"), (b"caf\xe9", "was not UTF-8")],
)
def test_a_lost_encoding_is_said(workspace: Workspace, root: Path, before: bytes, said: str) -> None:
    """T5-06 for whole files."""
    (root / "f").write_bytes(before)
    read_file.tool(workspace)("f")
    assert said in str(write_file.tool(workspace)("f", "new").return_value)


def test_what_was_never_read_is_not_overwritten(workspace: Workspace, root: Path) -> None:
    """T5-08: only an empty file has nothing to lose."""
    (root / "f").write_text("precious")
    (root / "empty").touch()
    (root / "binary").write_bytes(b"\0\1")
    write, read = write_file.tool(workspace), read_file.tool(workspace)
    with pytest.raises(ToolFailed, match="was not read"):
        write("f", "new")
    with pytest.raises(ToolFailed, match="binary"):
        read("binary")
    with pytest.raises(ToolFailed, match="was not read"):
        write("binary", "new")
    assert (root / "f").read_text() == "precious"
    write("empty", "new")
    read("f", limit=1)
    write("f", "new")
    with pytest.raises(ToolFailed, match="was not read"):
        write_file.tool(Workspace(root))("f", "newer")


def test_the_content_decides_and_not_the_time(workspace: Workspace, root: Path) -> None:
    """T5-08: the same bytes written again are no change; other bytes of the same size and time are one."""
    file = root / "f"
    file.write_text("v1")
    read, write = read_file.tool(workspace), write_file.tool(workspace)
    read("f")
    file.unlink()
    file.write_text("v1")
    os.utime(file, ns=(5, 5))
    write("f", "v2")
    before = file.stat()
    file.write_text("v3")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ToolFailed, match="read it again"):
        write("f", "v4")
    assert file.read_text() == "v3"


@pytest.mark.parametrize(
    "path",
    [".git/hooks/pre-commit", ".git/config", ".git", ".GIT/config", "sub/.git", "link/hooks/x", "bare/hooks/x"],
)
def test_what_belongs_to_git_is_not_written(workspace: Workspace, root: Path, path: str) -> None:
    """A hook or a setting of git is run by the next git command: no write may become an execution."""
    for directory in (".git/hooks", "sub", "bare/objects", "bare/refs"):
        (root / directory).mkdir(parents=True)
    (root / "bare" / "HEAD").touch()
    (root / ".git" / "config").write_text("x")
    (root / "link").symlink_to(".git")
    for call in (
        lambda: write_file.tool(workspace)(path, "#!/bin/sh\n"),
        lambda: update_file.tool(workspace)(path, "x", "y"),
    ):
        with pytest.raises(ToolFailed, match="belongs to git"):
            call()
    assert (root / ".git" / "config").read_text() == "x"
    assert not any((root / ".git" / "hooks").iterdir())
    write_file.tool(workspace)(".github/workflows/x.yml", "on: push\n")
    write_file.tool(workspace)(".gitignore", "x\n")


def test_hard_links_stay_together(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("a long old content")
    (root / "twin").hardlink_to(root / "f")
    read_file.tool(workspace)("f")
    assert "2 hard links share it" in str(write_file.tool(workspace)("f", "new").return_value)
    assert (root / "twin").read_text() == "new"
    assert (root / "twin").samefile(root / "f")


def test_a_failed_write_in_place_puts_the_old_content_back(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "f").write_text("old and long")
    (root / "twin").hardlink_to(root / "f")
    real, failures = os.fsync, [OSError(28, "No space left on device")]

    def full_disk(descriptor: int) -> None:
        if failures:
            raise failures.pop()
        real(descriptor)

    monkeypatch.setattr(replacing.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        update_file.tool(workspace)("f", "old", "new")
    assert (root / "f").read_text() == "old and long"


def test_a_file_that_appears_or_changes_at_the_last_moment_is_kept(root: Path) -> None:
    """T5-08: the stamp is compared once more before the rename."""
    file = root / "f"
    file.write_text("by somebody else")
    with pytest.raises(ToolFailed, match="at this very moment"):
        replacing.replace(file, "f", b"mine", None)
    stamp = replacing.Stamp.of(file.stat())
    file.write_text("by somebody else again")
    with pytest.raises(ToolFailed, match="at this very moment"):
        replacing.replace(file, "f", b"mine", stamp)
    assert [path.name for path in root.iterdir()] == ["f"]
    assert file.read_text() == "by somebody else again"


def test_nobody_else_may_look_into_the_new_content_of_a_private_file(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "f").write_text("")
    (root / "f").chmod(0o600)
    modes: list[int] = []
    inherit = shutil.copystat

    def look(original: Path, copy: Path) -> None:
        modes.append(stat.S_IMODE(copy.stat().st_mode))
        inherit(original, copy)

    monkeypatch.setattr(shutil, "copystat", look)
    write_file.tool(workspace)("f", "private")
    assert (modes, (root / "f").read_text()) == ([0o600], "private")
