from __future__ import annotations

import io
import os
import re
from typing import Any

import anyio
import pytest
from pydantic_ai.usage import RunUsage
from rich.cells import cell_len
from turngraph.flows.cli.console import ConsoleSink, Thinking
from turngraph.nodes import events as ev
from turngraph.nodes.errors import UsageError
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.slots import CallStatus

from .emulator import shown as on_screen

pytestmark = pytest.mark.anyio

STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Screen(io.StringIO):
    """Remembers what was written to a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


def ended(answer: str = "done", **changes: Any) -> ev.TurnEnded:
    facts: dict[str, Any] = {
        "outcome": Outcome.COMPLETED,
        "turn_id": "t",
        "session_id": "s",
        "request_id": "r",
        "flow": "standard",
        "model": "m",
        "answer": answer,
        "error": None,
        "iterations": 1,
        "usage": RunUsage(input_tokens=10, output_tokens=2),
        "cost": None,
        "duration_ms": 5,
        "edited_files": (),
    }
    return ev.TurnEnded(TurnResult(**facts | changes))


GREP = ev.ToolFinished("c", "grep", CallStatus.OK, {"pattern": "TODO", "path": "src"}, "a\nb\n", 4, 34)
CALLED = ev.ToolCalled("c", "grep", {"pattern": "TODO", "path": "src"}, "read_only")
TURN: list[ev.Event] = [
    ev.NodeEntered("stream", 2, 0, "assistant"),
    ev.ThinkingDelta("hm"),
    ev.TextDelta("I "),
    ev.TextDelta("look."),
    ev.NodeEntered("dispatch", 3, 1, "tool_execution"),
    CALLED,
    GREP,
    ev.NodeEntered("stream", 5, 1, "assistant"),
    ev.TextDelta("do"),
    ev.TextDelta("ne"),
    ev.NodeEntered("process_node", 6, 2, "assistant"),
    ended(),
]
SUMMARY = "completed · 1 iteration · 10 tokens in, 2 out · 5 ms\n"


async def shown(
    events: list[ev.Event], out: io.StringIO | None = None, err: io.StringIO | None = None, **how: Any
) -> tuple[str, str]:
    out, err = out or io.StringIO(), err or io.StringIO()
    sink = ConsoleSink(out, err, **how)
    for event in events:
        await sink.emit(event)
    first, second = (_seen(stream) for stream in (out, err))
    return first, second


def _seen(stream: io.StringIO) -> str:
    written = stream.getvalue()
    return on_screen(written, int(os.environ["COLUMNS"])) if isinstance(stream, Screen) else written


async def test_without_a_terminal_stdout_is_the_answer_and_stderr_the_rest() -> None:
    out, err = await shown(TURN)
    assert out == "done\n"
    assert err == f"I look.\n  grep TODO src  ok  2 lines  34 ms\n{SUMMARY}".replace(" · ", ", ")


async def test_a_terminal_sees_text_as_it_streams_and_the_answer_once() -> None:
    out, err = await shown(TURN, Screen(), Screen())
    assert out == "I look.\ndone\n"
    assert err == f"  thought for 0.0 s\n  grep TODO src  ok  2 lines  34 ms\n{SUMMARY}"


async def test_both_streams_on_one_terminal_never_share_a_line() -> None:
    screen = Screen()
    seen, _ = await shown(TURN, screen, screen, thinking="show")
    assert seen == f"hm\nI look.\n  grep TODO src  ok  2 lines  34 ms\ndone\n{SUMMARY}"
    assert "\x1b[2mhm" in screen.getvalue()


async def test_quiet_leaves_the_answer() -> None:
    assert await shown(TURN, quiet=True) == ("done\n", "")
    assert await shown(TURN, Screen(), Screen(), quiet=True) == ("done\n", "")


async def test_quiet_leaves_errors() -> None:
    failed = ended("", outcome=Outcome.PROVIDER_FAILURE, error="the server said 500", saved=False)
    out, err = await shown([failed], quiet=True)
    assert (out, err) == (
        "",
        "turngraph: the server said 500\nturngraph: the end of this turn could not be saved\n",
    )


async def test_a_document_on_stdout_keeps_the_answer_away() -> None:
    out, err = await shown(TURN, answer=False)
    assert out == ""
    assert "grep TODO src" in err
    assert "done" not in err


async def test_an_answer_that_was_not_streamed_as_such_is_printed() -> None:
    out, _ = await shown([ev.TextDelta("draft"), ended("final")], Screen())
    assert out == "draft\nfinal\n"


async def test_a_reply_that_another_one_replaced_is_commentary() -> None:
    again: list[ev.Event] = [
        ev.TextDelta("The answer is that"),
        ev.NodeEntered("process_node", 3, 1, "assistant"),
        ev.NodeEntered("stream", 5, 1, "assistant"),
        ev.TextDelta("It is 4."),
        ev.NodeEntered("process_node", 6, 2, "assistant"),
        ended("It is 4."),
    ]
    out, err = await shown(again)
    assert (out, err.splitlines()[0]) == ("It is 4.\n", "The answer is that")
    out, _ = await shown(again, Screen())
    assert out == "The answer is that\nIt is 4.\n"


async def test_text_that_never_became_an_answer_is_not_lost() -> None:
    cut: list[ev.Event] = [ev.TextDelta("half an ans"), ended("", outcome=Outcome.INTERRUPTED, error="interrupted")]
    out, err = await shown(cut)
    assert out == ""
    assert err.startswith("half an ans\nturngraph: interrupted\n")


async def test_a_failed_call_shows_its_reason() -> None:
    refused = ev.ToolFinished("c", "bash", CallStatus.REFUSED, {"command": "make"}, "Refused: no.\nx", 14, 0)
    _, err = await shown([refused])
    assert err == "  bash make  refused  0 ms\n    Refused: no.\n"


async def test_notices_say_what_they_are() -> None:
    _, err = await shown([ev.Notice("info", "mended"), ev.Notice("warning", "cut\x1b[2J")])
    assert err == "turngraph: note: mended\nturngraph: warning: cut\\x1b[2J\n"


async def test_replayed_prompts_come_first_and_a_turn_without_end_loses_nothing() -> None:
    started = ev.TurnStarted("t", "s", "r", "standard", "m", "do\n[b]it[/b]\n")
    out, err = await shown([started, ev.TextDelta("cut"), started], prompts=True)
    assert out == ""
    assert err == "> do\n[b]it[/b]\ncut\n> do\n[b]it[/b]\n"


HOSTILE = "\x1b[2J\x1b]0;title\x07[red]x[/red] \x9b31m\u202e:smile:"
HARMLESS = "[2J]0;title[red]x[/red] 31m:smile:"


@pytest.mark.parametrize("thinking", ["fold", "show"])
@pytest.mark.parametrize("screen", [io.StringIO, Screen])
async def test_untrusted_text_controls_nothing_and_is_no_markup(screen: type[io.StringIO], thinking: str) -> None:
    events: list[ev.Event] = [
        ev.ThinkingDelta(HOSTILE),
        ev.TextDelta(HOSTILE),
        ev.ToolCalled("c", HOSTILE, {HOSTILE: HOSTILE}, "execute"),
        ev.ToolStarted("c", HOSTILE),
        ev.ToolProgress("c", HOSTILE, HOSTILE),
        ev.ToolFinished("c", HOSTILE, CallStatus.ERROR, {HOSTILE: HOSTILE}, HOSTILE, 9, 1),
        ev.Notice("info", HOSTILE),
        ended(HOSTILE, error=HOSTILE, edited_files=(HOSTILE,)),
    ]
    out, err = await shown(events, screen(), screen(), thinking=thinking, verbose=True)
    for text in (out, err):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
        assert "[red]x[/red]" in text
    assert HARMLESS in out


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
async def test_a_call_is_one_line_of_the_terminal_with_its_status(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    call = ev.ToolFinished("c", "grep", CallStatus.OK, {"pattern": "漢字" * 20, "path": "src"}, "x", 1, 34)
    screen = Screen()
    await shown([call], Screen(), screen)
    (line,) = STYLE.sub("", screen.getvalue()).splitlines()
    assert cell_len(line) <= max(columns, 27)
    assert line.endswith("  ok  1 character  34 ms")


async def test_without_a_terminal_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    _, err = await shown([GREP])
    assert err == "  grep TODO src  ok  2 lines  34 ms\n"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
async def test_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    screen = Screen()
    await shown(TURN, screen, screen, thinking="show")
    assert not re.search(r"\x1b\[(3|4|9|10)\d", screen.getvalue())
    if name == "TERM":
        assert "\x1b" not in screen.getvalue()


async def test_a_terminal_is_written_to_ten_times_a_second_at_most() -> None:
    clock = Clock()
    screen = Screen()
    sink = ConsoleSink(screen, Screen(), clock=clock)
    writes: set[int] = set()
    for _ in range(500):
        await sink.emit(ev.TextDelta("x"))
        writes.add(len(screen.getvalue()))
        clock.now += 0.001
    assert len(writes) <= 6
    await sink.emit(ended("x" * 500))
    assert on_screen(screen.getvalue()).replace("\n", "") == "x" * 500


async def test_waiting_text_shows_although_nothing_new_comes() -> None:
    screen = Screen()
    sink = ConsoleSink(screen, Screen())

    async def turn() -> str:
        await sink.emit(ev.TextDelta("a"))
        await sink.emit(ev.TextDelta("b"))
        assert on_screen(screen.getvalue()) == "a\n"
        await anyio.sleep(0.3)
        assert on_screen(screen.getvalue()) == "ab\n"
        return "finished"

    assert await sink.fresh_while(turn()) == "finished"


async def test_the_error_of_a_turn_comes_out_as_it_is() -> None:
    async def turn() -> str:
        raise UsageError("no")

    with pytest.raises(UsageError, match="no"):
        await ConsoleSink(io.StringIO(), io.StringIO()).fresh_while(turn())


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
