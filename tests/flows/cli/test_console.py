from __future__ import annotations

import io
import re

import anyio
import pytest
from rich.cells import cell_len
from turngraph.flows.cli.console import ConsoleSink
from turngraph.nodes import events as ev
from turngraph.nodes.errors import UsageError
from turngraph.nodes.outcome import Outcome
from turngraph.nodes.slots import CallStatus

from .emulator import shown as on_screen
from .showing import GREP, SUMMARY, TURN, Clock, Screen, ended, shown

pytestmark = pytest.mark.anyio

STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


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
