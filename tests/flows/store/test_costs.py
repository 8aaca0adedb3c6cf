"""What keeping costs: bytes on the disk, bytes written, and memory, against the messages' own JSON."""

from __future__ import annotations

import sys
import tracemalloc
import uuid
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.usage import RequestUsage
from turngraph.flows.store import Store
from turngraph.nodes.deps import Visit

from ..stored import filled, head, outcome_of, said
from .test_database import opened

WAY = ["prepare_history", "stream", "process_node", "persist", "end"]


def keep_turn(store: Store, session: str, size: int) -> None:
    """A turn with all its visits, whose prompt and answer are of one size."""
    turn, prompt = head(session, uuid.uuid4().hex), said("question " * (size // 9))
    answer = ModelResponse(
        parts=[TextPart("answer " * (size // 7))],
        usage=RequestUsage(input_tokens=size, output_tokens=size),
        model_name="some-model",
        finish_reason="stop",
    )
    with store.begin_turn(turn, prompt) as log:
        rows = [log.message(prompt)]
        for number, (role, to) in enumerate(pairwise(WAY), 1):
            if role == "process_node":
                rows.append(log.message(answer))
            elif role == "persist":
                log.seal(1, rows)
            log.visit(
                Visit(number, role, f"turngraph.nodes.{role}:{role.title()}", 1, to, 1.23456), {"agent_state": role}
            )
        log.end(outcome_of(turn))


def written() -> int:
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


@pytest.mark.skipif(sys.platform != "linux", reason="no system else counts what a process writes")
def test_each_message_is_kept_once_and_written_a_few_times(store_path: Path) -> None:
    with Store.open(store_path) as store:
        session = store.create_session("/work")
        before = written()
        for _ in range(200):
            keep_turn(store, session, 2200)
        own = len(ModelMessagesTypeAdapter.dump_json(store.load_messages(session).messages))
    assert store_path.stat().st_size < 1.6 * own
    assert written() - before < 8 * own


def fill(store: Store, session: str, replies: int, size: int) -> None:
    turn = head(session, uuid.uuid4().hex)
    with store.begin_turn(turn, None) as log:
        for number in range(replies):
            call = ToolCallPart("read", {"n": number}, f"call-{number}")
            reply = log.message(ModelResponse(parts=[call]))
            log.seal(number, [reply, [log.result(number, filled(0, call, f"{number} " * size))]])
        log.compact(log.message(said("summary")), 5)
        log.end(outcome_of(turn))


def test_a_history_after_a_cut_costs_the_same_whatever_was_before(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in instructions of SQLite's virtual machine."""
    store, connection = opened(store_path, monkeypatch)
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    costs: list[int] = []
    with store:
        for replies in (220, 900):
            session = store.create_session("/work")
            fill(store, session, replies, 10)
            steps = 0
            connection.set_progress_handler(count, 1)
            assert len(store.load_messages(session).messages) == 11
            connection.set_progress_handler(None, 0)
            costs.append(steps)
    assert costs[1] < 1.1 * costs[0]


def test_a_history_is_read_in_pieces(store: Store) -> None:
    """In memory at once: the messages, and the text of a few of them."""
    session = store.create_session("/work")
    turn = head(session)
    with store.begin_turn(turn, None) as log:
        for number in range(600):
            call = ToolCallPart("read", {"n": number}, f"call-{number}")
            reply = log.message(ModelResponse(parts=[call]))
            log.seal(number, [reply, [log.result(number, filled(0, call, f"{number:6} " * 3000))]])
    own = 600 * 7 * 3000
    tracemalloc.start()
    try:
        history = store.load_messages(session)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(history.messages) == 1200
    assert peak < 2 * own
