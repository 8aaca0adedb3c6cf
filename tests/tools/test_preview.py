from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.exceptions import ToolFailed
from turngraph.tools import update_file, write_file
from turngraph.tools.preview import line_diff, preview
from turngraph.tools.version import Version
from turngraph.tools.workspace import Workspace

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "é\r\n", "- x\n"]), max_size=30).map("".join)
TEXTS = st.tuples(LINES, st.sampled_from(["", "end"])).map("".join)


def tree(root: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in root.rglob("*") if path.is_file()}


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
@given(before=TEXTS, after=TEXTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_the_diff_makes_the_new_text_of_the_old(tmp_path: Path, before: str, after: str) -> None:
    """As patch(1) reads it."""
    file = tmp_path / "f"
    file.write_bytes(before.encode())
    diff = "\n".join(line_diff("f", before, after)) + "\n"
    if before != after:
        subprocess.run(
            ["patch", "--binary", "-s", "-E", "--no-backup-if-mismatch", "-p1"],
            cwd=tmp_path,
            input=diff.encode(),
            check=True,
        )
    assert (file.read_bytes() if file.exists() else b"").decode() == after


def test_a_big_change_is_one_block_in_time() -> None:
    before, after = ("".join(f"{word}{n}\n" for n in range(30_000)) for word in "ab")
    diff = line_diff("f", f"same\n{before}", f"same\n{after}")
    assert diff[2] == "@@ -1,30001 +1,30001 @@"
    assert len(diff) == 3 + 1 + 60_000


@pytest.mark.parametrize(
    ("tool", "args", "summary", "line"),
    [
        ("update_file", {"path": "a", "old": "two", "new": "2"}, "edits a", "+2"),
        ("update_file", {"path": "a", "old": "o", "new": "0", "replace_all": True}, "edits a (2 places)", "-two"),
        ("write_file", {"path": "a", "content": "one\nthree\n"}, "overwrites a, 8 bytes", "+three"),
        ("write_file", {"path": "d/new", "content": "x\ny"}, "creates d/new: 2 lines", "--- /dev/null"),
    ],
)
def test_nothing_is_written_and_the_tool_does_what_was_shown(
    tmp_path: Path, tool: str, args: dict[str, Any], summary: str, line: str
) -> None:
    (tmp_path / "a").write_text("one\ntwo\n")
    before = tree(tmp_path)
    shown = preview(tmp_path, tool, args)
    assert shown is not None
    assert (shown.summary, line in shown.diff) == (summary, True)
    assert tree(tmp_path) == before
    assert not (tmp_path / "d").exists()
    old = "" if args["path"] == "d/new" else "one\ntwo\n"
    workspace = Workspace(tmp_path)
    if old:
        workspace.saw(tmp_path / "a", Version.of_bytes(b"one\ntwo\n"))
    {"update_file": update_file, "write_file": write_file}[tool].tool(workspace)(**args)
    made = (tmp_path / args["path"]).read_text()
    assert shown.diff == line_diff(args["path"], old, made, created=not old)


@pytest.mark.parametrize(
    ("tool", "args", "why"),
    [
        ("update_file", {"path": "a", "old": "three", "new": "3"}, "does not stand in a"),
        ("update_file", {"path": "none", "old": "x", "new": "y"}, "no file none"),
        ("write_file", {"path": "../x", "content": ""}, "outside the workspace"),
    ],
)
def test_what_would_be_refused_is_refused(tmp_path: Path, tool: str, args: dict[str, Any], why: str) -> None:
    (tmp_path / "a").write_text("one\n")
    with pytest.raises(ToolFailed, match=why):
        preview(tmp_path, tool, args)


def test_a_file_that_cannot_be_compared_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\0\1")
    os.mkfifo(tmp_path / "pipe")
    for name in ("a", "pipe"):
        shown = preview(tmp_path, "write_file", {"path": name, "content": "x\n"})
        assert shown is not None
        assert "cannot be compared" in shown.summary
        assert shown.diff[-1] == "+x"


def test_other_tools_have_none(tmp_path: Path) -> None:
    assert preview(tmp_path, "bash", {"command": "make"}) is None
