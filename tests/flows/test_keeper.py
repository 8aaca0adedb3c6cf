"""Which files a workspace held is in the journal at each point of a turn, as often as it may have changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.toolsets import FunctionToolset
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.flows.store import Store, TreeBody, VisitBody
from turngraph.flows.testing.model import Reply, ScriptedModel
from turngraph.flows.trees import Trees
from turngraph.nodes.events import Notice
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.tools.effects import Effect, declare

from .trees.repositories import repository

pytestmark = pytest.mark.anyio


def write(text: str, fail: bool = False) -> ToolCallPart:
    return ToolCallPart("write", {"text": text, "fail": fail})


LOOK = ToolCallPart("look", {})


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    return repository(tmp_path / "repository", {"notes": "as committed"})


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    return Trees(tmp_path / "turns.db.trees")


async def turn(store: Store, workdir: Path, trees: Trees, *replies: Reply) -> tuple[TurnResult, list[Notice]]:
    def look() -> str:
        return (workdir / "notes").read_text()

    def write(text: str, fail: bool) -> str:
        (workdir / "notes").write_text(text)
        if fail:
            raise OSError("and then it broke")
        return "written"

    tools, sink = FunctionToolset[Any](), MemorySink()
    tools.add_function(look, metadata=declare(Effect.READ_ONLY))
    tools.add_function(write, metadata=declare(Effect.WRITE))
    model = ScriptedModel(*replies)
    result = await run_turn("go", model=model, toolsets=[tools], store=store, workdir=workdir, trees=trees, sink=sink)
    return result, [event for event in sink.events if isinstance(event, Notice)]


def snapshots(store: Store, turn_id: str) -> list[tuple[int, str]]:
    """After how many visits each was made; the visits that are written after it count."""
    found: list[tuple[int, str]] = []
    passed = 0
    for record in store.journal(turn_id):
        if isinstance(record.body, VisitBody):
            passed = record.body.visit.number
        elif isinstance(record.body, TreeBody):
            found.append((passed, record.body.commit))
    return found


async def test_it_is_recorded_at_the_beginning_and_after_calls_that_may_have_changed_it(
    store: Store, workdir: Path, trees: Trees, tmp_path: Path
) -> None:
    result, notices = await turn(
        store, workdir, trees, (write("one"), LOOK), LOOK, (write("two"), write("three")), "Done."
    )
    assert (result.outcome, notices) == (Outcome.COMPLETED, [])
    found = snapshots(store, result.turn_id)
    assert [passed for passed, _ in found] == [0, 4, 14]  # in the visits 1, 5 and 15: before them, and of `execute`
    for (_, commit), text in zip(found, ("as committed", "one", "three"), strict=True):
        there = await trees.restore(commit, workdir, tmp_path / text)
        assert (there / "notes").read_text() == text
    assert (workdir / "notes").read_text() == "three"


async def test_what_a_call_that_failed_left_is_recorded_too(store: Store, workdir: Path, trees: Trees) -> None:
    result, _ = await turn(store, workdir, trees, write("half", fail=True), "Done.")
    assert len(snapshots(store, result.turn_id)) == 2


async def test_the_same_files_are_written_down_once(store: Store, workdir: Path, trees: Trees) -> None:
    result, _ = await turn(store, workdir, trees, write("as committed"), write("as committed"), "Done.")
    assert len(snapshots(store, result.turn_id)) == 1


async def test_what_only_reads_records_nothing_more(store: Store, workdir: Path, trees: Trees) -> None:
    result, _ = await turn(store, workdir, trees, LOOK, LOOK, "Done.")
    assert len(snapshots(store, result.turn_id)) == 1


async def test_where_there_is_no_repository_nothing_is_recorded_and_nothing_said(
    store: Store, tmp_path: Path, trees: Trees
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    result, notices = await turn(store, plain, trees, write("one"), "Done.")
    assert (result.outcome, notices, snapshots(store, result.turn_id)) == (Outcome.COMPLETED, [], [])


async def test_a_snapshot_that_fails_is_said_once_and_the_turn_goes_on(
    store: Store, workdir: Path, tmp_path: Path
) -> None:
    (tmp_path / "in the way").write_text("a file")
    trees = Trees(tmp_path / "in the way")
    result, notices = await turn(store, workdir, trees, write("one"), write("two"), "Done.")
    assert (result.outcome, snapshots(store, result.turn_id)) == (Outcome.COMPLETED, [])
    (notice,) = notices
    assert notice.level == "warning"
    assert notice.text.startswith(f"The files of {workdir} could not be recorded: ")
    assert notice.text.endswith("; a fork of this turn cannot restore them")
