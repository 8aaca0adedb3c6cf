"""What is recorded is what comes back, byte for byte."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turngraph.flows.trees import Trees

from .repositories import files, git, mess_up, repository, uncommitted, write

NAMES = st.sampled_from(
    [
        b"a",
        b"b",
        b"-c",
        b"d e",
        b"f\ng",
        b"\xff\xfe",
        "ü".encode(),
        b"*",
        b":(top)",
        b'"',
        b"\\",
        b"h\t",
        b"git~1",
        b"A",
    ]
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
TEXTS = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"", b"one\r\ntwo\n", b"$Id$", "\ufefftext".encode("utf-16"), b"x" * 70_000]),
)
ENTRIES = st.one_of(
    st.tuples(st.sampled_from(["file", "program"]), TEXTS),
    st.tuples(st.just("link"), st.sampled_from([b"a", b"../outside", b"/", b"b/a", b"\xff"])),
    st.just(("gone", b"")),
)
TREES = st.lists(st.tuples(PATHS, ENTRIES), max_size=8)


def _make(root: Path, entries: list[tuple[bytes, tuple[str, bytes]]]) -> None:
    """Put each entry in its place, whatever was there or in its way; nothing is followed out of the root."""
    for path, (kind, content) in entries:
        parts = [os.fsdecode(part) for part in path.split(b"/")]
        for depth in range(1, len(parts)):
            folder = root.joinpath(*parts[:depth])
            if folder.is_symlink() or folder.is_file():
                folder.unlink()
            folder.mkdir(exist_ok=True)
        place = root.joinpath(*parts)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        elif place.is_symlink() or place.exists():
            place.unlink()
        if kind == "link":
            place.symlink_to(os.fsdecode(content))
        elif kind != "gone":
            place.write_bytes(content)
            place.chmod(0o755 if kind == "program" else 0o644)


@settings(max_examples=12)
@given(committed=TREES, first=TREES, second=TREES)
def test_any_tree_comes_back_and_what_was_uncommitted_is_so_again(
    committed: list[tuple[bytes, tuple[str, bytes]]],
    first: list[tuple[bytes, tuple[str, bytes]]],
    second: list[tuple[bytes, tuple[str, bytes]]],
) -> None:
    async def scenario(place: Path) -> None:
        root = repository(place / "user", {".gitattributes": "* -text\n"})
        git(root, "config", "core.autocrlf", "true")
        _make(root, committed)
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--allow-empty", "--message=second")
        (root / ".gitattributes").write_text("* text=auto ident filter=none\n")
        trees = Trees(place / "trees")
        snapshots: list[tuple[str, dict[bytes, tuple[str, bytes]], set[bytes]]] = []
        for edits in (first, second):
            _make(root, edits)
            commit = await trees.snapshot(root)
            assert commit is not None
            assert await Trees(place / f"fresh {len(snapshots)}").snapshot(root) == commit
            snapshots.append((commit, files(root), uncommitted(root)))
        mess_up(root)
        for number, (commit, held, changed) in enumerate(snapshots):
            into = place / f"into {number}"
            assert await trees.restore(commit, root, into) == into
            assert files(into) == held
            assert uncommitted(into) == changed

    with TemporaryDirectory() as place:
        anyio.run(scenario, Path(place))


@pytest.mark.parametrize(
    ("attributes", "content"),
    [
        ("* text eol=lf", b"one\r\ntwo\n"),
        ("* text eol=crlf", b"one\ntwo\r\n"),
        ("* ident", b"$Id: mine $\n$Id$"),
        ("* working-tree-encoding=UTF-16", "text".encode("utf-16")),
        ("* working-tree-encoding=UTF-16", b"no UTF-16"),
        ("[attr]all text ident\n* all", b"$Id: mine $\r\n"),
        ("* filter=none", b"text\r\n"),
    ],
)
def test_no_attribute_converts_a_byte(tmp_path: Path, attributes: str, content: bytes) -> None:
    async def scenario() -> None:
        root = repository(tmp_path / "user", {"a": "a"})
        git(root, "config", "core.autocrlf", "true")
        write(root / "sub" / ".gitattributes", attributes)
        write(root / "sub" / "b", content)
        trees = Trees(tmp_path / "trees")
        commit = await trees.snapshot(root)
        assert commit is not None
        assert files(await trees.restore(commit, root, tmp_path / "into")) == files(root)

    anyio.run(scenario)


def test_a_change_of_the_same_size_at_the_same_moment_is_seen(tmp_path: Path) -> None:
    async def scenario() -> None:
        root = repository(tmp_path / "user", {"a": "0"})
        trees = Trees(tmp_path / "trees")
        seen: set[str | None] = set()
        for digit in "123456789":
            write(root / "a", digit)
            seen.add(await trees.snapshot(root))
        assert len(seen) == 9

    anyio.run(scenario)
