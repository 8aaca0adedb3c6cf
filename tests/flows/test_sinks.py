from __future__ import annotations

import io
import json
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_ai.usage import RunUsage
from turngraph.flows.sinks import JsonlSink, MemorySink, NullSink, Tee, event_json, plain_json, result_json
from turngraph.nodes import events as ev
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.slots import CallStatus

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def result(**changes: Any) -> TurnResult:
    facts: dict[str, Any] = {
        "outcome": Outcome.COMPLETED,
        "turn_id": "t1",
        "session_id": "s1",
        "request_id": "r1",
        "flow": "standard",
        "model": "test",
        "answer": "done",
        "error": None,
        "iterations": 2,
        "usage": RunUsage(requests=2, input_tokens=10, output_tokens=3),
        "cost": Decimal("0.0000001"),
        "duration_ms": 5,
        "edited_files": ("a.py",),
    }
    return TurnResult(**facts | changes)


EVENTS: list[ev.Event] = [
    ev.TurnStarted("t1", "s1", "r1", "standard", "test", "do it"),
    ev.NodeEntered("stream", 2, 1, "assistant"),
    ev.NodeLeft("stream", 2, 1, "process", 1.5),
    ev.TextDelta("hi"),
    ev.ThinkingDelta("hm"),
    ev.ToolCalled("c1", "grep", {"pattern": "x"}, "read_only"),
    ev.ApprovalAsked("c1", "bash", {"command": "ls"}),
    ev.ToolStarted("c1", "grep"),
    ev.ToolProgress("c1", "grep", "half"),
    ev.ToolFinished("c1", "grep", CallStatus.OK, {"pattern": "x"}, "a.py:1", 6, 3, ("a.py",)),
    ev.Notice("warning", "cut"),
    ev.TurnEnded(result()),
]


def test_every_event_class_is_exercised_here() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(ev.Event))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_its_schema_its_type_and_its_fields(event: ev.Event) -> None:
    data = event_json(event)
    assert data.pop("schema") == "turngraph.event/1"
    assert data.pop("type").replace("_", "") == type(event).__name__.lower()
    assert is_dataclass(event)
    assert list(data) == [field.name for field in fields(event)]
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_the_result_says_how_the_turn_ended() -> None:
    data = result_json(result(outcome=Outcome.PROVIDER_FAILURE, error="the server said 500", answer=""))
    assert (data["outcome"], data["exit_code"]) == ("provider_failure", 3)
    assert data["error"] == {"kind": "provider_failure", "message": "the server said 500"}
    assert data["usage"]["input_tokens"] == 10
    assert data["cost_usd"] == "0.0000001"
    assert result_json(result(cost=None))["cost_usd"] is None
    assert result_json(result())["error"] is None


class Stranger:
    def __repr__(self) -> str:
        return "<stranger>"


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.binary()
    | st.decimals()
    | st.datetimes()
    | st.just(Stranger())
    | st.complex_numbers(),
    lambda children: st.lists(children) | st.dictionaries(st.text() | st.integers() | st.binary(), children),
    max_leaves=8,
)


@given(args=ANYTHING)
@example(args=float("nan"))
@example(args={"a": [float("-inf")]})
def test_no_argument_keeps_an_event_from_being_one_line_of_strict_json(args: Any) -> None:
    line = json.dumps(event_json(ev.ToolCalled("c", "t", args, "execute")), allow_nan=False)
    assert "\n" not in line
    assert line.isascii()
    json.loads(line)


def test_a_value_that_contains_itself_appears_as_its_repr() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert plain_json(loop) == "[[...]]"


async def test_jsonl_writes_one_line_an_event_and_tee_feeds_all() -> None:
    stream, memory = io.StringIO(), MemorySink()
    sink = Tee(JsonlSink(stream), NullSink(), memory)
    for event in EVENTS:
        await sink.emit(event)
    assert memory.events == EVENTS
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [event_json(e) for e in EVENTS]
