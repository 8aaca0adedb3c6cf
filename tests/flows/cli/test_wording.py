from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.usage import RunUsage
from turngraph.flows.cli import wording
from turngraph.nodes.events import ToolFinished
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.slots import CallStatus


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({"path": "src/a.py"}, "src/a.py"),
        ({"pattern": "two words", "path": "."}, '"two words" .'),
        ({"path": "a.py", "content": "x = 1\ny = 2\nz = 3\n"}, "a.py (3 lines)"),
        ({"path": "a.py", "offset": 10, "limit": None}, "a.py offset=10"),
        ({"items": [1, 2]}, "items=[1, 2]"),
        ({"command": "echo \x1b[2J"}, '"echo \\u001b[2J"'),
        ({"command": "x" * 500}, "x" * 57 + "..."),
        ({}, ""),
        (None, ""),
        ("half of {a json", '"half of {a json"'),
    ],
)
def test_arguments_at_a_glance(args: Any, shown: str) -> None:
    assert wording.short_arguments(args) == shown


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none() | st.lists(st.text())))
def test_arguments_are_one_clean_line_whatever_they_are(args: dict[str, Any]) -> None:
    shown = wording.short_arguments(args)
    assert len(shown.splitlines()) <= 1
    assert "\x1b" not in shown


def finished(result: str, size: int | None = None) -> ToolFinished:
    return ToolFinished("c", "t", CallStatus.OK, {}, result, len(result) if size is None else size, 1)


def test_the_size_is_lines_where_the_whole_result_is_at_hand() -> None:
    assert wording.size(finished("a\nb\nc")) == "3 lines"
    assert wording.size(finished("abc")) == "3 characters"
    assert wording.size(finished("a\nb\n[cut]", 123456)) == "123,456 characters"


@pytest.mark.parametrize(
    ("ms", "shown"), [(0, "0 ms"), (999, "999 ms"), (1000, "1.0 s"), (59_940, "59.9 s"), (61_000, "1 min 1 s")]
)
def test_durations(ms: int, shown: str) -> None:
    assert wording.duration(ms) == shown


def test_a_reason_is_the_first_line_that_says_anything() -> None:
    assert wording.reason("\n  Refused: no.\nmore") == "Refused: no."
    assert wording.reason(" \n") == "no reason was given"


def result(**changes: Any) -> TurnResult:
    facts: dict[str, Any] = {
        "outcome": Outcome.BUDGET_EXHAUSTED,
        "turn_id": "t",
        "session_id": "s",
        "request_id": "r",
        "flow": "standard",
        "model": "m",
        "answer": "",
        "error": None,
        "iterations": 1,
        "usage": RunUsage(input_tokens=1234, output_tokens=5),
        "cost": Decimal("0.01234"),
        "duration_ms": 1500,
        "edited_files": ("a.py", "b\n.py"),
    }
    return TurnResult(**facts | changes)


def test_the_summary_names_everything_that_is_known() -> None:
    assert wording.summary(result()) == [
        "budget exhausted",
        "1 iteration",
        "1,234 tokens in, 5 out",
        "$0.0123",
        "1.5 s",
        "edited a.py, b\\n.py",
    ]


def test_the_summary_leaves_out_what_is_not() -> None:
    assert wording.summary(result(cost=None, edited_files=(), iterations=2)) == [
        "budget exhausted",
        "2 iterations",
        "1,234 tokens in, 5 out",
        "1.5 s",
    ]
    assert "under $0.0001" in wording.summary(result(cost=Decimal("0.000001")))
