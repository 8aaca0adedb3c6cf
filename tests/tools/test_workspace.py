from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic_ai.exceptions import ToolFailed
from turngraph.tools import glob, grep, list_dir, read_file, update_file, write_file
from turngraph.tools.workspace import Workspace, printable

ESCAPES = ["../secret", "/etc/passwd", "link/secret", "final", "link/new", "dangling", "a/../../x", "~/x", "loop"]


@pytest.fixture
def traps(root: Path, tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s3cret\n")
    (tmp_path / "secret").write_text("s3cret\n")
    (root / "link").symlink_to(outside)
    (root / "final").symlink_to(outside / "secret")
    (root / "dangling").symlink_to(outside / "missing")
    (root / "loop").symlink_to("loop")
    (root / "a").mkdir()
    return outside


@pytest.mark.parametrize("path", ESCAPES)
def test_no_path_leads_out_of_the_workspace(workspace: Workspace, traps: Path, path: str) -> None:
    with pytest.raises(ToolFailed) as refused:
        workspace.resolve(path)
    assert path in str(refused.value)


@pytest.mark.anyio
@pytest.mark.parametrize("path", ESCAPES)
async def test_every_file_tool_refuses_what_lies_outside(workspace: Workspace, traps: Path, path: str) -> None:
    """T5-09: a symlinked directory, or a symlink as the last part, is no way out for any tool."""
    with pytest.raises(ToolFailed):
        read_file.tool(workspace)(path)
    with pytest.raises(ToolFailed):
        write_file.tool(workspace)(path, "x")
    with pytest.raises(ToolFailed):
        update_file.tool(workspace)(path, "s3cret", "x")
    for search in (list_dir.tool(workspace)(path), glob.tool(workspace)("*", path), grep.tool(workspace)("s", path)):
        with pytest.raises(ToolFailed):
            await search
    assert [entry.name for entry in os.scandir(traps)] == ["secret"]
    assert (traps / "secret").stat().st_size == len("s3cret\n")


@pytest.mark.anyio
async def test_searches_do_not_follow_links_out(workspace: Workspace, traps: Path) -> None:
    assert "s3cret" not in await grep.tool(workspace)("s3cret", include_ignored=True)
    assert "secret" not in (await glob.tool(workspace)("**/*")).split("\n", 1)[1:]


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "\ud800"])
def test_what_is_no_path_is_refused_in_a_sentence(workspace: Workspace, path: str) -> None:
    with pytest.raises(ToolFailed):
        read_file.tool(workspace)(path)
    with pytest.raises(ToolFailed):
        write_file.tool(workspace)(path, "x")


def test_paths_inside_may_be_relative_absolute_or_new(workspace: Workspace, root: Path) -> None:
    assert workspace.resolve("a/b.txt") == root / "a/b.txt"
    assert workspace.resolve(str(root / "a")) == root / "a"
    assert workspace.resolve(".") == root
    assert workspace.display(root) == "."
    assert workspace.display(root / "a" / "b") == "a/b"


def test_a_workspace_behind_a_symlink_knows_its_files(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    workspace = Workspace(tmp_path / "alias")
    assert workspace.resolve(str(tmp_path / "alias" / "f")) == root / "f"


def test_the_root_must_be_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        Workspace(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        Workspace(tmp_path / "missing")


def test_a_pipe_is_refused_without_waiting_for_it(workspace: Workspace, root: Path) -> None:
    os.mkfifo(root / "pipe")
    for call in (lambda: read_file.tool(workspace)("pipe"), lambda: write_file.tool(workspace)("pipe", "x")):
        with pytest.raises(ToolFailed, match="not a regular file"):
            call()


@pytest.mark.anyio
async def test_names_that_cannot_be_printed_are_escaped(workspace: Workspace, root: Path) -> None:
    (root / "two\nlines").write_text("needle\n")
    (root / os.fsdecode(b"caf\xe9")).write_text("needle\n")
    for text in (
        await list_dir.tool(workspace)(),
        await glob.tool(workspace)("*"),
        await grep.tool(workspace)("needle"),
    ):
        assert "two\\nlines" in text
        assert "caf\\udce9" in text
        text.encode()
    assert printable("plain é") == "plain é"
