"""The prompt: an argument, what is piped in, or both; and stdin where nobody writes."""

from __future__ import annotations

import os
import pty
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turngraph.flows.cli import stdin
from turngraph.flows.cli.failures import Misuse
from turngraph.flows.cli.prompt import Prompt, read_prompt


@contextmanager
def as_stdin(fd: int) -> Generator[None]:
    """Let the open descriptor be this process's stdin, as far as Python is concerned."""
    with pytest.MonkeyPatch.context() as patch, open(fd, encoding="utf-8") as stream:
        patch.setattr("sys.stdin", stream)
        yield


@contextmanager
def piped(data: bytes) -> Generator[None]:
    """Stdin is a pipe whose writer writes and goes."""
    read, write = os.pipe()

    def fill() -> None:
        with suppress(BrokenPipeError), os.fdopen(write, "wb", buffering=0) as stream:
            rest = memoryview(data)
            while rest:
                rest = rest[stream.write(rest) :]

    writer = threading.Thread(target=fill)
    writer.start()
    try:
        with as_stdin(read):
            yield
    finally:
        writer.join()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdin, "PATIENCE", 0.2)


@pytest.mark.parametrize("argument", ["-", None])
def test_the_prompt_is_what_is_piped_in(argument: str | None) -> None:
    with piped(b"one\ntwo\n"):
        assert read_prompt(argument) == Prompt("one\ntwo\n")


def test_what_is_piped_in_goes_under_the_prompt_and_that_is_said() -> None:
    with piped(b"+ a\n- b\n"):
        found = read_prompt("review this")
    assert found.text == "review this\n\nFrom stdin:\n\n```\n+ a\n- b\n```\n"
    assert found.notes == ("2 lines from stdin went under the prompt",)


@given(st.text("a`\n", min_size=1))
def test_nothing_inside_can_close_the_fence(material: str) -> None:
    with piped(material.encode()):
        found = read_prompt("p")
    if material.strip():
        fence = found.text.splitlines()[4]
        assert found.text == f"p\n\nFrom stdin:\n\n{fence}\n{material.removesuffix(chr(10))}\n{fence}\n"
        assert fence not in material


def test_a_file_is_read_from_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("first\nsecond\n")
    fd = os.open(tmp_path / "f", os.O_RDONLY)
    os.read(fd, 6)
    with as_stdin(fd):
        assert "```\nsecond\n```" in read_prompt("p").text


def idle_pipe() -> tuple[int, Callable[[], None]]:
    read, write = os.pipe()
    return read, lambda: os.close(write)


def idle_socket() -> tuple[int, Callable[[], None]]:
    ours, theirs = socket.socketpair()
    return theirs.detach(), ours.close


@pytest.mark.parametrize("open_idle", [idle_pipe, idle_socket])
def test_a_pipe_nobody_writes_to_is_left_alone_and_that_is_said(
    open_idle: Callable[[], tuple[int, Callable[[], None]]],
) -> None:
    fd, close = open_idle()
    began = time.monotonic()
    with as_stdin(fd):
        found = read_prompt("p")
    close()
    assert time.monotonic() - began < 5
    assert found.text == "p"
    (warning,) = found.warnings
    assert "nothing came in 0.2 s, so it was left alone" in warning


def test_one_that_writes_late_is_waited_for_once_it_has_begun_or_when_asked() -> None:
    for early, wanted in ((b"early ", None), (b"", True)):
        read, write = os.pipe()
        os.write(write, early)

        def later(write: int = write) -> None:
            time.sleep(0.5)
            os.write(write, b"late")
            os.close(write)

        writer = threading.Thread(target=later)
        writer.start()
        with as_stdin(read):
            assert f"```\n{early.decode()}late\n```" in read_prompt("p", wanted).text
        writer.join()


def nothing() -> int:
    return os.open(os.devnull, os.O_RDONLY)


def endless() -> int:
    return os.open("/dev/zero", os.O_RDONLY)


def ended() -> int:
    read, write = os.pipe()
    os.close(write)
    return read


@pytest.mark.parametrize("source", [nothing, endless, ended])
def test_where_there_is_nothing_nothing_is_said(source: Callable[[], int]) -> None:
    with as_stdin(source()):
        assert read_prompt("p") == Prompt("p")


def test_a_terminal_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = pty.openpty()
    os.write(keyboard, b"typed\n")
    with as_stdin(terminal):
        assert read_prompt("p") == Prompt("p")
        with pytest.raises(Misuse, match="there is no prompt"):
            read_prompt(None)
    os.close(keyboard)
    monkeypatch.setattr("sys.stdin", None)
    assert read_prompt("p") == Prompt("p")


def test_no_stdin_leaves_it_to_the_loop_around(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("a\nb\n")
    fd = os.open(tmp_path / "list", os.O_RDONLY)
    with as_stdin(fd):
        assert read_prompt("p", stdin=False) == Prompt("p")
        assert os.read(fd, 100) == b"a\nb\n"


@pytest.mark.parametrize(
    ("argument", "wanted", "data", "why"),
    [
        ("-", None, b" \n", "the prompt is empty"),
        (None, None, b"", "the prompt is empty"),
        ("  ", None, b"x", "the prompt is empty"),
        ("-", False, b"x", "--no-stdin leaves no prompt"),
        ("-", None, b"\x7fELF\0", "no text .byte 4 is a NUL"),
        ("p", None, b"x" * (stdin.LARGEST + 1), "more than 4 MiB"),
    ],
)
def test_no_prompt(argument: str | None, wanted: bool | None, data: bytes, why: str) -> None:
    with pytest.raises(Misuse, match=why), piped(data):
        read_prompt(argument, wanted)


@pytest.mark.parametrize(
    ("data", "text", "lost"),
    [
        (b"caf\xe9 \xff", "caf\\xe9 \\xff", "2 bytes"),
        ("\ufeffé".encode(), "é", None),
        ("é\n".encode("utf-16"), "é\n", None),
    ],
)
def test_what_is_no_utf8_is_shown_and_counted(data: bytes, text: str, lost: str | None) -> None:
    with piped(data):
        found = read_prompt("-")
    assert found.text == text
    assert [warning.startswith(f"{lost} of stdin could not be read") for warning in found.warnings] == [True] * bool(
        lost
    )


def test_an_argument_that_is_no_utf8() -> None:
    with as_stdin(nothing()):
        assert read_prompt("caf\udce9").text == "caf\ufffd"
