from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.exceptions import ToolFailed
from turngraph.tools import read_file, update_file, write_file
from turngraph.tools.workspace import Workspace

BYTES = st.binary(max_size=60).map(lambda data: data.replace(b"\0", b""))


def test_the_result_is_a_diff_and_names_the_file(workspace: Workspace, root: Path) -> None:
    (root / "a.py").write_text("x = 1\ny = 2\n")
    result = update_file.tool(workspace)("a.py", "y = 2", "y = 3")
    assert result.return_value == "Edited a.py.\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 3"
    assert result.metadata == {"edited": ["a.py"]}


def test_several_matches_are_refused_with_their_lines(workspace: Workspace, root: Path) -> None:
    """T5-02."""
    file = root / "f"
    file.write_text("x=1\nx=1\n")
    update = update_file.tool(workspace)
    with pytest.raises(ToolFailed, match="2 times in f, at lines 1, 2"):
        update("f", "x=1", "x=2")
    assert file.read_text() == "x=1\nx=1\n"
    assert "(2 places)" in str(update("f", "x=1", "x=2", replace_all=True).return_value)
    assert file.read_text() == "x=2\nx=2\n"


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("a", "a"), ("missing", "x"), ("a", "\ud800")])
def test_an_edit_that_cannot_be_is_refused(workspace: Workspace, root: Path, old: str, new: str) -> None:
    (root / "f").write_text("a\n")
    with pytest.raises(ToolFailed):
        update_file.tool(workspace)("f", old, new)
    assert (root / "f").read_text() == "a\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "b", "B", b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", "b\n", "B\nBB\n", b"a\r\nB\nBB\nc\r\n"),
        (b"a\r\nb\nc\r\n", "a\nb\n", "A\nB\n", b"A\r\nB\nc\r\n"),
        (b"a\r\nb\r\n", "b", "b\nb2", b"a\r\nb\r\nb2\r\n"),
        (b"a\r\nb", "b", "b\nb2", b"a\r\nb\r\nb2"),
        (b"no end", "end", "newline", b"no newline"),
        (b"\xef\xbb\xbfkulcs = \xc3\xa9rt\r\n", "kulcs", "key", b"\xef\xbb\xbfkey = \xc3\xa9rt\r\n"),
        (b'name = "\xc4\xe3\xba\xc3"', "name", "nom", b'nom = "\xc4\xe3\xba\xc3"'),
        ("caf\xe9 = 1\n".encode("latin-1"), "1", "2", "caf\xe9 = 2\n".encode("latin-1")),
        (b"'%s'", "'%s'", "\u2018%s\u2019", "\u2018%s\u2019".encode()),
        ("it\u2019s".encode(), "it\u2019s", "it's", b"it's"),
    ],
)
def test_bytes_that_are_not_edited_stay(
    workspace: Workspace, root: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    """T5-04 (line ends), T5-05 (BOM), T5-06 (other encodings), T5-07 (quotes)."""
    (root / "f").write_bytes(before)
    str(update_file.tool(workspace)("f", old, new).return_value).encode()
    assert (root / "f").read_bytes() == after


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(BYTES, BYTES)
def test_any_bytes_around_an_edit_survive(workspace: Workspace, root: Path, head: bytes, tail: bytes) -> None:
    """T5-06: whatever the encoding, an edit lands byte-exactly or is refused."""
    before = head + b" <<mark>> " + tail
    if before.startswith((b"\xff\xfe", b"\xfe\xff")) or before.count(b"<<mark>>") > 1:
        return
    (root / "f").write_bytes(before)
    update_file.tool(workspace)("f", "<<mark>>", "edited")
    assert (root / "f").read_bytes() == head + b" edited " + tail


def test_a_file_of_unknown_encoding_is_never_mixed_or_torn(workspace: Workspace, root: Path) -> None:
    """T5-06: no UTF-8 goes into it, and no match may begin inside a two-byte character."""
    content = "表|x\n".encode("shift_jis")
    assert content[1:2] == b"\\"
    (root / "f").write_bytes(content)
    update = update_file.tool(workspace)
    with pytest.raises(ToolFailed, match="only ASCII"):
        update("f", "x", "é")
    with pytest.raises(ToolFailed, match="tear"):
        update("f", "\\", "/")
    assert (root / "f").read_bytes() == content


def test_mode_and_links_are_kept(workspace: Workspace, root: Path) -> None:
    """T5-11, T5-12: the mode stays, a link's target is rewritten, a hard 0444 is respected."""
    script = root / "s.sh"
    script.write_text("echo a\n")
    script.chmod(0o755)
    (root / "link").symlink_to("s.sh")
    result = update_file.tool(workspace)("link", "echo a", "echo b")
    assert (root / "link").is_symlink()
    assert script.read_text() == "echo b\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert result.metadata == {"edited": ["s.sh"]}
    script.chmod(0o444)
    with pytest.raises(ToolFailed, match="read-only"):
        update_file.tool(workspace)("s.sh", "echo b", "echo c")
    assert script.read_text() == "echo b\n"


def test_parallel_edits_of_one_file_all_land(workspace: Workspace, root: Path) -> None:
    """T5-15 and T5-08: edits of one path run one after another, each reading anew."""
    (root / "f").write_text("".join(f"slot{n:03d} = old\n" for n in range(40)))
    (root / "alias").symlink_to("f")
    update = update_file.tool(workspace)
    with ThreadPoolExecutor(8) as pool:
        olds = [f"slot{n:03d} = old" for n in range(40)]
        list(pool.map(update, ["f", "alias"] * 20, olds, [old.replace("old", "new") for old in olds]))
    assert (root / "f").read_text() == "".join(f"slot{n:03d} = new\n" for n in range(40))
    assert sorted(path.name for path in root.iterdir()) == ["alias", "f"]


def test_line_end_only_edits_are_refused_as_no_change(workspace: Workspace, root: Path) -> None:
    (root / "f").write_bytes(b"a\r\n")
    with pytest.raises(ToolFailed, match="line ends follow the file"):
        update_file.tool(workspace)("f", "a\r\n", "a\n")


def test_binary_files_are_refused(workspace: Workspace, root: Path) -> None:
    (root / "f").write_bytes(b"x" * 10_000 + b"\0")
    with pytest.raises(ToolFailed, match="binary"):
        update_file.tool(workspace)("f", "x", "y", replace_all=True)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-8"])
def test_a_marked_encoding_is_kept(workspace: Workspace, root: Path, codec: str) -> None:
    """T5-05 and T5-06: PowerShell's files stay what they are."""
    before = "\ufeffnév = 1\r\n😀 = 2\r\n"
    (root / "f").write_bytes(before.encode(codec))
    update_file.tool(workspace)("f", "1", "ő\nzwei")
    assert (root / "f").read_bytes() == before.replace("1", "ő\r\nzwei").encode(codec)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff\xfea", "no valid text"),
        (b"\xff\xfe\x00\xd8a\x00", "no valid text"),
        ("a日本".encode("iso2022_jp"), "ISO-2022"),
        (b"\xff\xfea\0\0\0", "binary"),
    ],
)
def test_what_cannot_be_kept_is_refused(workspace: Workspace, root: Path, content: bytes, why: str) -> None:
    """T5-06."""
    (root / "f").write_bytes(content)
    with pytest.raises(ToolFailed, match=why):
        update_file.tool(workspace)("f", "a", "b")
    assert (root / "f").read_bytes() == content


@pytest.mark.parametrize("codec", ["latin-1", "cp1252", "gbk", "shift_jis", "big5", "euc_kr", "koi8-r"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_an_edit_in_any_code_page_is_the_edit_of_its_text_or_refused(
    workspace: Workspace, root: Path, codec: str, data: st.DataObject
) -> None:
    """T5-06: decoded as what it is, the file holds the edit and nothing else has changed."""
    words = {"gbk": "你好帐", "shift_jis": "表日ソ", "big5": "功許", "euc_kr": "가나", "koi8-r": "жя"}.get(codec, "éß")
    text = data.draw(st.text(st.sampled_from(f"{words}ab\\|\n"), max_size=30))
    old = data.draw(st.text(st.sampled_from("ab\\|\n"), min_size=1, max_size=3))
    (root / "f").write_bytes(text.encode(codec))
    try:
        update_file.tool(workspace)("f", old, "N")
    except ToolFailed:
        assert (root / "f").read_bytes() == text.encode(codec)
    else:
        assert text.count(old) == 1 or old not in text
        if old in text:
            assert (root / "f").read_bytes() == text.replace(old, "N").encode(codec)
        else:
            (root / "f").read_bytes().decode(codec)


def test_a_file_changed_since_it_was_read_is_not_edited(workspace: Workspace, root: Path) -> None:
    """T5-08; a file that was never read may be edited, for the text to replace must stand in it."""
    (root / "f").write_text("v1 x")
    update, read = update_file.tool(workspace), read_file.tool(workspace)
    update("f", "x", "y")
    with pytest.raises(ToolFailed, match="was not read"):
        write_file.tool(workspace)("f", "all")
    read("f")
    update("f", "v1", "v2")
    update("f", "v2", "v3")
    write_file.tool(workspace)("f", "v4 y")
    (root / "f").write_text("v5 y")
    with pytest.raises(ToolFailed, match="read it again before editing"):
        update("f", "y", "z")
    assert (root / "f").read_text() == "v5 y"


def test_an_edit_can_be_seen_before_it_is_made(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("x = 1\n")
    planned = update_file.plan(workspace, "f", "1", "2")
    assert planned.diff.endswith("@@ -1,1 +1,1 @@\n-x = 1\n+x = 2")
    assert (root / "f").read_text() == "x = 1\n"
    assert planned.diff in str(update_file.tool(workspace)("f", "1", "2").return_value)
