from __future__ import annotations

import io
import os
import pty
from collections.abc import Generator
from typing import Any

import anyio
import pytest
from turngraph.flows.cli.question import Question, describe
from turngraph.tools.effects import Effect
from turngraph.tools.policy import Abort, Allow, CallRequest, Decision, Refuse

pytestmark = pytest.mark.anyio


class Person:
    """A terminal, its keyboard, and the question that reads from it."""

    def __init__(self, keyboard: int, terminal: int) -> None:
        self.keyboard = keyboard
        self.screen = io.StringIO()
        self.settled = 0
        self.question = Question(terminal, self.screen, self._settle)

    def _settle(self) -> None:
        self.settled += 1

    async def types(self, *lines: str) -> None:
        """Answer each prompt once it is shown."""
        for number, line in enumerate(lines, 1):
            await self.sees("abort the turn: ", number)
            os.write(self.keyboard, line.encode())

    async def sees(self, text: str, times: int = 1) -> None:
        with anyio.fail_after(10):
            while self.screen.getvalue().count(text) < times:  # noqa: ASYNC110 - a stream has no event to wait for
                await anyio.sleep(0.005)


@pytest.fixture
def person() -> Generator[Person]:
    keyboard, terminal = pty.openpty()
    yield Person(keyboard, terminal)
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
    assert person.settled == 1


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
        await person.sees("abort the turn: ")
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


def test_the_call_is_shown_whole_and_nothing_in_it_hides() -> None:
    long = "x" * 5000
    args = {"command": f"rm -rf /\r\x1b[2K{long}\nsecond\n", "timeout": 3, "env": {"A": "\u202e"}}
    assert describe(request(**args)) == [
        "bash wants to run (execute):",
        f"  command: rm -rf /\\r\\x1b[2K{long}",
        "    second",
        "    ",
        "  timeout: 3",
        '  env: {"A": "\\u202e"}',
    ]
    assert describe(request())[-1] == "  (no arguments)"
