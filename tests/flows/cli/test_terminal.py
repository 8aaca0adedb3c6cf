from __future__ import annotations

import errno
import io
import os
import threading
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turngraph.flows.cli.terminal import Guarded, encodable, guarded, plain, visible, width_of

ANY_TEXT = st.text(st.characters(codec=None) | st.sampled_from("\x1b\x07\r\n\t\x9b\u202e\u2028\x00"))


@given(ANY_TEXT)
def test_plain_text_holds_no_control_but_newline_and_tab(text: str) -> None:
    shown = plain(text)
    assert {c for c in shown if unicodedata.category(c) == "Cc"} <= {"\n", "\t"}
    assert "\u202e" not in shown
    assert plain(shown) == shown


@given(ANY_TEXT)
def test_visible_text_is_one_line_that_hides_nothing(text: str) -> None:
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    assert not any(unicodedata.category(c) == "Cc" for c in shown)
    assert len(shown) >= len(text)


def test_visible_shows_escapes() -> None:
    assert visible("a\x1b[2J\n\u202eb") == "a\\x1b[2J\\n\\u202eb"


def pipe_with_stream(encoding: str = "utf-8") -> tuple[int, io.TextIOWrapper]:
    read, write = os.pipe()
    original = os.fdopen(write, "w", encoding=encoding)
    return read, original


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_narrow_encoding_and_a_lone_surrogate_are_written_as_escapes(encoding: str) -> None:
    read, original = pipe_with_stream(encoding)
    with original:
        stream = guarded(original)
        stream.write("\u2603 \ud800\n")
        stream.flush()
        got = os.read(read, 100)
        os.close(read)
    assert got.endswith(b" \\ud800\n")
    assert got.startswith("\u2603".encode(encoding, "backslashreplace"))


def test_a_reader_that_is_gone_is_no_failure() -> None:
    read, original = pipe_with_stream()
    os.close(read)
    with original:
        stream = guarded(original)
        for _ in range(3):
            stream.write("x" * 100_000 + "\n")
            stream.flush()
        assert isinstance(stream, Guarded)
        assert stream.loss is None
        stream.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_fails_nothing_and_is_known() -> None:
    with Path("/dev/full").open("w") as original:
        stream = guarded(original)
        stream.write("lost\n")
        stream.write("lost too")
        assert isinstance(stream, Guarded)
        assert stream.loss is not None
        assert stream.loss.errno == errno.ENOSPC
        stream.close()


def test_a_pipe_that_would_block_is_waited_for() -> None:
    read, original = pipe_with_stream()
    os.set_blocking(original.fileno(), False)
    text = "y" * 300_000
    got: list[bytes] = []

    def drain() -> None:
        while sum(map(len, got)) < len(text):
            got.append(os.read(read, 65536))

    reader = threading.Thread(target=drain)
    with original:
        stream = guarded(original)
        reader.start()
        stream.write(text)
        stream.flush()
        reader.join()
    os.close(read)
    assert b"".join(got).decode() == text


def test_a_closed_standard_stream_takes_everything() -> None:
    assert guarded(None).write("x") == 1


def test_a_stream_without_a_descriptor_stays_as_it_is() -> None:
    stream = io.StringIO()
    assert guarded(stream) is stream


def test_only_a_terminal_has_a_width() -> None:
    assert width_of(io.StringIO()) is None


def test_encodable() -> None:
    read, original = pipe_with_stream("cp1252")
    with original:
        assert encodable("\u00b7", original)
        assert not encodable("\u2603", original)
    os.close(read)
