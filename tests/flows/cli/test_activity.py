"""What runs is drawn in place; what was thought, found and left out is told."""

from __future__ import annotations

import anyio
import pytest
from turngraph.flows.cli.console import ConsoleSink, Thinking
from turngraph.nodes import events as ev
from turngraph.nodes.slots import CallStatus

from .emulator import shown as on_screen
from .showing import GREP, SUMMARY, Clock, Screen, ended, shown

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


async def test_a_running_call_is_drawn_in_place_and_leaves_one_line() -> None:
    clock = Clock()
    screen = Screen()
    sink = ConsoleSink(screen, screen, clock=clock)
    called = ev.ToolCalled("c", "bash", {"command": "make"}, "execute")

    async def turn() -> None:
        await sink.emit(called)
        await sink.emit(ev.ToolStarted("c", "bash"))
        for second in range(3):
            clock.now += 1
            await sink.emit(ev.ToolProgress("c", "bash", f"step {second}\x1b[2J"))
            await anyio.sleep(0.15)
            assert on_screen(screen.getvalue()) == f"  bash make  {second + 1} s | step {second}\\x1b[2J\n"
        await sink.emit(ev.ToolFinished("c", "bash", CallStatus.OK, {"command": "make"}, "built", 5, 3000))

    await sink.fresh_while(turn())
    assert on_screen(screen.getvalue()) == "  bash make  ok  5 characters  3.0 s\n"


async def test_many_running_calls_take_a_few_lines() -> None:
    clock = Clock()
    screen = Screen()
    sink = ConsoleSink(screen, screen, clock=clock)

    async def turn() -> None:
        for number in range(20):
            await sink.emit(ev.ToolStarted(str(number), "grep"))
        clock.now += 2
        await anyio.sleep(0.15)
        assert on_screen(screen.getvalue()).splitlines() == ["  grep  2 s"] * 8 + ["  and 12 more"]

    await sink.fresh_while(turn())
    assert on_screen(screen.getvalue()) == ""


@pytest.mark.parametrize(
    ("how", "line"), [("fold", "  thought for 3.2 s\n"), ("hide", ""), ("show", "hm\n")], ids=["fold", "hide", "show"]
)
async def test_thinking_as_wanted(how: Thinking, line: str) -> None:
    clock = Clock()
    screen = Screen()
    sink = ConsoleSink(screen, screen, thinking=how, clock=clock)
    await sink.emit(ev.ThinkingDelta("h"))
    clock.now += 3.2
    await sink.emit(ev.ThinkingDelta("m"))
    await sink.emit(ev.TextDelta("Yes."))
    await sink.emit(ended("Yes."))
    assert on_screen(screen.getvalue()) == f"{line}Yes.\n{SUMMARY}"


async def test_thinking_without_a_terminal_only_where_it_is_asked_for() -> None:
    turn: list[ev.Event] = [ev.ThinkingDelta("hm"), ended()]
    assert "thought" not in (await shown(turn))[1]
    assert (await shown(turn, thinking="show"))[1].startswith("hm\n")


async def test_verbose_previews_a_result_and_counts_the_rest() -> None:
    result = "".join(f"line {number}\x1b[1m\n" for number in range(100))
    long = ev.ToolFinished("c", "grep", CallStatus.OK, {}, result, 70_000, 5)
    _, err = await shown([long], verbose=True)
    lines = err.splitlines()
    assert lines[1] == "    line 0\\x1b[1m"
    assert lines[-2:] == [
        "    [88 more lines not shown]",
        f"    [only {len(result):,} of 70,000 characters are kept to be shown]",
    ]
    assert len(lines) == 1 + 12 + 2


async def test_while_someone_is_asked_nothing_else_is_written() -> None:
    screen = Screen()
    sink = ConsoleSink(screen, screen, clock=Clock())
    with sink.paused():
        before = screen.getvalue()
        await sink.emit(GREP)
        assert screen.getvalue() == before
    assert on_screen(screen.getvalue()) == "  grep TODO src  ok  2 lines  34 ms\n"


async def test_an_answer_that_is_no_markdown_stays_as_it_is() -> None:
    answer = "a.py:1: # *x*\nb.py:2: __y__"
    assert (await shown([ended(answer)], Screen(), Screen(), markdown=False))[0] == f"{answer}\n"
