"""What a journal tells of a turn, step by step, and at a glance."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.toolsets import FunctionToolset
from rich.cells import cell_len
from turngraph.flows.cli.turn_json import journal_json
from turngraph.flows.cli.turn_text import print_journal, print_turns
from turngraph.flows.runner import run_turn
from turngraph.flows.store import Store, VisitBody
from turngraph.flows.summaries import summarise, summary_of
from turngraph.flows.testing.model import ScriptedModel
from turngraph.flows.told import tell
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.tools.effects import Effect, declare

from .cli.showing import Screen

pytestmark = pytest.mark.anyio

_STYLE = re.compile(r"\x1b\[[012]m")
"""Bold, dim and back; colours are off."""

HOSTILE = "\x1b[31mred\x1b[0m\u202e " + "long words " * 60


def tools() -> FunctionToolset[Any]:
    def change(text: str) -> str:
        if text == "fail":
            raise OSError("no space left")
        return "changed"

    toolset = FunctionToolset[Any]()
    toolset.add_function(change, metadata=declare(Effect.WRITE))
    return toolset


async def worked(store: Store, prompt: str = "work") -> TurnResult:
    model = ScriptedModel(
        ("Let me see.", ToolCallPart("change", {"text": "a"}, "c1"), ToolCallPart("change", {"text": "fail"}, "c2")),
        "Done.",
    )
    return await run_turn(prompt, model=model, toolsets=[tools()], store=store)


async def test_the_visits_by_number_and_what_happened_in_each(store: Store) -> None:
    turn = (await worked(store)).turn_id
    steps = tell(store.journal(turn))
    assert [(step.number, step.role, step.to) for step in steps] == [
        (1, "prepare_history", "stream"),
        (2, "stream", "process_node"),
        (3, "process_node", "dispatch"),
        (4, "dispatch", "execute"),
        (5, "execute", "persist"),
        (6, "persist", "stream"),
        (7, "stream", "process_node"),
        (8, "process_node", "persist"),
        (9, "persist", "end"),
    ]
    (reply,) = steps[1].events
    assert (reply["text"], [call["args"] for call in reply["calls"]]) == (
        "Let me see.",
        [{"text": "a"}, {"text": "fail"}],
    )
    assert [(event["kind"], event["status"], event["args"]["text"]) for event in steps[4].events] == [
        ("result", "ok", "a"),
        ("result", "error", "fail"),
    ]
    assert [event["kind"] for event in steps[5].events] == ["seal"]


async def test_at_every_cut_each_call_is_told_once(store: Store) -> None:
    """Whatever rows are there, a call that began is a result or unknown, and what is not in a visit comes last."""
    turn = (await worked(store)).turn_id
    journal = store.journal(turn)
    for end in range(1, len(journal)):
        rows = journal[:end]
        steps = tell(rows)
        told = [event["kind"] for step in steps for event in step.events if event["kind"] in ("result", "unknown")]
        begun = sum(record.kind == "intent" for record in rows)
        assert len(told) == begun
        assert sum(step.number is not None for step in steps) == sum(isinstance(row.body, VisitBody) for row in rows)
        assert all(step.number is not None for step in steps[:-1])
        summary = summary_of(turn, rows)
        assert (summary.state, summary.outcome) == ("running", None)  # this process is alive


async def test_at_a_glance(store: Store) -> None:
    result = await worked(store)
    turn = summarise(store, result.turn_id)
    assert (turn.state, turn.outcome, turn.pid) == ("ended", Outcome.COMPLETED, None)
    assert (turn.visits, turn.iterations, turn.prompt, turn.session) == (9, 2, "work", result.session_id)


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_it_fits_the_terminal(store: Store, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    turn = (await worked(store, HOSTILE)).turn_id
    summary, body, journal = summarise(store, turn), store.turn_body(turn), store.journal(turn)
    assert summary == summary_of(turn, journal)  # though what was said is not read for it
    for stream in (Screen(), io.StringIO()):
        print_turns([summary], stream)
        print_journal(summary, body, tell(journal), stream)
        written = stream.getvalue()
        plain = _STYLE.sub("", written)
        assert "\x1b" not in (plain if isinstance(stream, Screen) else written)
        assert "\u202e" not in written
        assert "   5  execute -> persist" in written
        if isinstance(stream, Screen):
            assert max(map(cell_len, plain.splitlines())) <= width
        else:
            assert HOSTILE.split()[-1] in written.splitlines()[1]


async def test_as_json(store: Store) -> None:
    turn = (await worked(store)).turn_id
    journal = store.journal(turn)
    document = journal_json(summary_of(turn, journal), store.turn_body(turn), tell(journal))
    assert document["schema"] == "turngraph.journal/1"
    assert document["turn"]["outcome"] == "completed"
    assert [visit["n"] for visit in document["visits"]] == list(range(1, 10))
