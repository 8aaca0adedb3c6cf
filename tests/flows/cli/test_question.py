from __future__ import annotations

import io
import os
import pty
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from turngraph.flows.cli.proposal import excerpt, propose
from turngraph.flows.cli.question import Question
from turngraph.tools.effects import Effect
from turngraph.tools.policy import Abort, Allow, CallRequest, Decision, Refuse

pytestmark = pytest.mark.anyio


class Person:
    """A terminal, its keyboard, and the question that reads from it."""

    def __init__(self, keyboard: int, terminal: int, root: Path) -> None:
        self.keyboard = keyboard
        self.screen = io.StringIO()
        self.paused: list[str] = []
        self.question = Question(terminal, self.screen, self._pause, root)

    @contextmanager
    def _pause(self) -> Generator[None]:
        self.paused.append("from")
        yield
        self.paused.append("to")

    async def types(self, *lines: str) -> None:
        """Answer each prompt once it is shown."""
        for number, line in enumerate(lines, 1):
            await self.sees("Run it? [", number)
            os.write(self.keyboard, line.encode())

    async def sees(self, text: str, times: int = 1) -> None:
        with anyio.fail_after(10):
            while self.screen.getvalue().count(text) < times:  # noqa: ASYNC110 - a stream has no event to wait for
                await anyio.sleep(0.005)


@pytest.fixture
def person(tmp_path: Path) -> Generator[Person]:
    keyboard, terminal = pty.openpty()
    yield Person(keyboard, terminal, tmp_path)
    os.close(keyboard)
    os.close(terminal)


def request(**args: Any) -> CallRequest:
    return CallRequest("c", "bash", args, Effect.EXECUTE)


@pytest.mark.parametrize(
    ("lines", "decision"),
    [
        (["y\n"], Allow()),
        (["YES\n"], Allow()),
        (["n\n"], Refuse("the user said no")),
        (["no use make instead\n"], Refuse("the user said no: use make instead")),
        (["a\n"], Abort()),
        (["\x04"], Abort()),
        (["\n", "yy\n", "sure\n", "y\n"], Allow()),
    ],
)
async def test_the_person_decides(person: Person, lines: list[str], decision: Decision) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(person.types, *lines)
        assert await person.question.ask(request(command="make")) == decision
    assert person.paused == ["from", "to"]


async def test_what_was_typed_before_the_question_is_no_answer(person: Person) -> None:
    os.write(person.keyboard, b"y\n")
    await anyio.sleep(0.05)
    async with anyio.create_task_group() as group:
        group.start_soon(person.types, "n\n")
        assert await person.question.ask(request()) == Refuse("the user said no")


async def test_ctrl_c_at_the_question_aborts_and_without_a_question_does_nothing(person: Person) -> None:
    assert not person.question.abort()
    decisions: list[Decision] = []

    async def ask() -> None:
        decisions.append(await person.question.ask(request()))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await person.sees("Run it? [")
        assert person.question.abort()
    assert decisions == [Abort()]
    assert not person.question.abort()


async def test_a_cancelled_turn_leaves_no_question_behind(person: Person) -> None:
    with anyio.move_on_after(0.1) as scope:
        await person.question.ask(request())
    assert scope.cancelled_caught
    assert not person.question.abort()


async def test_questions_are_asked_one_at_a_time(person: Person) -> None:
    decisions: list[Decision] = []

    async def ask(command: str) -> None:
        decisions.append(await person.question.ask(request(command=command)))

    async with anyio.create_task_group() as group:
        group.start_soon(ask, "one")
        group.start_soon(ask, "two")
        await person.sees("command: one")
        await anyio.sleep(0.05)
        assert "command: two" not in person.screen.getvalue()
        group.start_soon(person.types, "y\n", "n\n")
    assert decisions == [Allow(), Refuse("the user said no")]


def write(path: str, content: str) -> CallRequest:
    return CallRequest("c", "write_file", {"path": path, "content": content}, Effect.WRITE)


async def test_an_edit_is_shown_as_the_diff_it_would_make(person: Person, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\n")
    edit = CallRequest("c", "update_file", {"path": "a.py", "old": "two", "new": "2"}, Effect.WRITE)
    async with anyio.create_task_group() as group:
        group.start_soon(person.types, "y\n")
        assert await person.question.ask(edit) == Allow()
    shown = person.screen.getvalue()
    assert "update_file edits a.py (write):\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n" in shown
    assert (tmp_path / "a.py").read_text() == "one\ntwo\n"


async def test_what_was_left_out_is_counted_and_can_be_seen(person: Person) -> None:
    content = "".join(f"line {number}\n" for number in range(500))
    async with anyio.create_task_group() as group:
        group.start_soon(person.types, "v\n", "n\n")
        await person.question.ask(write("new", content))
    before, _, after = person.screen.getvalue().partition("Run it? [y/n/s/v/a]")
    assert "lines not shown; v shows all" in before
    assert "+line 250\n" not in before
    assert "+line 0\n" in before
    assert "+line 499\n" in before
    assert all(f"+line {number}\n" in after for number in range(500))


@pytest.mark.parametrize(
    ("first", "same", "other"),
    [
        (write("a", "1"), write("b", "2"), request(command="make")),
        (request(command="make"), request(command="make"), request(command="make all")),
    ],
    ids=["every call of a tool that writes", "exactly one command"],
)
async def test_yes_for_the_session_covers(
    person: Person, first: CallRequest, same: CallRequest, other: CallRequest
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(person.types, "s\n", "n\n")
        assert await person.question.ask(first) == Allow()
        assert await person.question.ask(same) == Allow()
        assert await person.question.ask(other) == Refuse("the user said no")


async def test_a_tool_that_wants_approval_is_covered_call_by_call(person: Person) -> None:
    asking = [CallRequest("c", "deploy", {"to": to}, Effect.WRITE, requires_approval=True) for to in ("test", "live")]
    async with anyio.create_task_group() as group:
        group.start_soon(person.types, "s\n", "n\n")
        assert await person.question.ask(asking[0]) == Allow()
        assert await person.question.ask(asking[1]) == Refuse("the user said no")


def test_the_call_is_shown_whole_and_nothing_in_it_hides(tmp_path: Path) -> None:
    long = "x" * 5000
    args = {"command": f"rm -rf /\r\x1b[2K{long}\nsecond\n", "timeout": 3, "env": {"A": "\u202e"}}
    proposal = propose(request(**args), tmp_path)
    assert proposal.title == "bash wants to run (execute):"
    assert proposal.lines == [
        f"  command: rm -rf /\\r\\x1b[2K{long}",
        "    second",
        "    ",
        "  timeout: 3",
        '  env: {"A": "\\u202e"}',
    ]
    assert propose(request(), tmp_path).lines == ["  (no arguments)"]


def test_an_edit_that_would_fail_says_why_and_shows_its_arguments(tmp_path: Path) -> None:
    edit = CallRequest("c", "update_file", {"path": "none\x1b", "old": "a", "new": "b"}, Effect.WRITE)
    proposal = propose(edit, tmp_path)
    assert "as it stands it would fail: There is no file none" in proposal.title
    assert "\x1b" not in proposal.title
    assert proposal.lines == ["  path: none\\x1b", "  old: a", "  new: b"]


def test_a_diff_hides_no_control_and_keeps_tabs(tmp_path: Path) -> None:
    proposal = propose(write("Makefile", "all:\n\techo \x1b[2K\r\n"), tmp_path)
    assert proposal.lines[-1] == "+\techo \\x1b[2K\\r"


@given(st.lists(st.text("ab 漢", max_size=700), max_size=60), st.integers(8, 60), st.sampled_from([20, 80, 200]))
def test_an_excerpt_fits_and_counts_what_it_leaves_out(lines: list[str], rows: int, width: int) -> None:
    shown, cut = excerpt(lines, rows, width)
    counted = [
        int(found[1].replace(",", "")) for line in shown if (found := re.match(r"\[\.\.\. ([\d,]+) lines? ", line))
    ]
    assert len(shown) - len(counted) + sum(counted) == len(lines)
    assert cut == (shown != lines)
