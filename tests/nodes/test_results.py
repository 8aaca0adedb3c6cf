from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter
from pydantic_ai.messages import BinaryContent, ImageUrl, ToolCallPart, ToolReturn, ToolReturnPart
from turngraph.nodes.deps import KnownCall
from turngraph.nodes.errors import StoreError
from turngraph.nodes.events import ToolFinished
from turngraph.nodes.results import (
    LONGEST_SHOWN_RESULT,
    UNKNOWN_OUTCOME,
    recall,
    settle,
    shown_result,
    storable,
    unwrap,
)
from turngraph.nodes.slots import CallStatus, Slot

from .acting import Ledger, Scene

PART = TypeAdapter(ToolReturnPart)
ANY_TEXT = st.text(st.characters(exclude_categories=()))


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = None


class Model(BaseModel):
    name: str
    at: datetime


class Colour(enum.Enum):
    RED = ("r", 1)


class Opaque:
    def __repr__(self) -> str:
        return "<opaque>"


LEAVES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(1, 3).map(lambda times: -(10 ** (2_500 * times)))
    | st.floats()
    | ANY_TEXT
    | st.binary()
    | st.decimals()
    | st.datetimes(timezones=st.just(UTC))
    | st.sampled_from([Colour.RED, Path("a/b"), Opaque(), {1, 2}, range(3), 1j, Ellipsis, int, memoryview(b"x")])
    | st.just(Model(name="m", at=datetime(2026, 1, 1, tzinfo=UTC)))
    | st.just(ImageUrl("https://example.com/a.png"))
    | st.just(BinaryContent(b"\x89PNG", media_type="image/png"))
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(ANY_TEXT | st.integers() | st.none(), inner, max_size=3)
        | st.builds(Point, inner, inner)
    ),
    max_leaves=6,
)


@given(ANYTHING)
def test_whatever_a_tool_returns_is_stored_and_comes_back_equal(returned: Any) -> None:
    part = ToolReturnPart("t", storable(returned), "id")
    assert PART.validate_json(PART.dump_json(part)) == part
    assert storable(part.content) == part.content
    part.model_response_str().encode()


def file(kind: str) -> dict[str, Any]:
    return {"kind": kind, "url": "https://example.com/x", "data": "eA==", "media_type": "text/plain"}


@pytest.mark.parametrize("kind", ["image-url", "binary", "document-url", "text-content"])
def test_data_that_looks_like_a_file_stays_data(kind: str) -> None:
    part = ToolReturnPart("t", storable({"found": [file(kind)]}), "id")
    assert PART.validate_json(PART.dump_json(part)).content == part.content


def test_plain_data_is_kept_as_it_is() -> None:
    data = {"a": [1, 2.5, "x", None, True], "b": {"c": ""}}
    assert storable(data) == data


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ((1, 2), [1, 2]),
        ({1: "a"}, {"1": "a"}),
        ("\udcff", "\\udcff"),
        (Point(1, "\udcff"), {"x": 1, "y": "\\udcff"}),
        (Point(float("nan")), {"x": "nan", "y": None}),
        (Path("a/b"), "a/b"),
        (Decimal("1.5"), "1.5"),
        (float("nan"), "nan"),
        ([float("inf"), -float("inf")], ["inf", "-inf"]),
        (Model(name="m", at=datetime(2026, 1, 1, tzinfo=UTC)), {"name": "m", "at": "2026-01-01T00:00:00Z"}),
    ],
)
def test_how_other_values_are_kept(value: Any, kept: Any) -> None:
    assert storable(value) == kept


def test_keys_that_read_alike_lose_nothing() -> None:
    assert storable({1: "a", "1": "b"}) == [[1, "a"], ["1", "b"]]


def test_a_result_that_holds_itself_is_text() -> None:
    loop: list[Any] = ["x"]
    loop += [loop, loop]
    assert storable(loop) == "['x', [...], [...]]"


def test_bytes_become_a_file() -> None:
    assert storable(b"\xff\x00") == BinaryContent(b"\xff\x00", media_type="application/octet-stream")


def test_a_tool_returns_extra_content_after_its_value() -> None:
    image = BinaryContent.narrow_type(BinaryContent(b"png", media_type="image/png"))
    returned = ToolReturn(return_value={"n": 1}, content=["see", image], metadata={"edited": [Path("a.py"), "b.py"]})
    assert unwrap(returned) == ([{"n": 1}, "see", image], ["a.py", "b.py"])
    assert unwrap(ToolReturn(return_value="v", content="more")) == (["v", "more"], [])
    assert unwrap(ToolReturn(return_value="v", metadata={"edited": []})) == ("v", [])
    assert unwrap(ToolReturn(return_value="v", metadata="anything")) == ("v", [])
    assert unwrap("v") == ("v", [])


@pytest.mark.parametrize("edited", ["a.py", None, 7, {"a.py": 1}])
def test_a_strange_list_of_edited_files_does_no_harm(edited: Any) -> None:
    content, paths = unwrap(ToolReturn(return_value="v", metadata={"edited": edited}))
    assert content == "v"
    assert all(path not in {".", "y"} for path in paths)


def filled(content: Any) -> Slot:
    slot = Slot(0, ToolCallPart("t", {}, "id"))
    slot.fill(CallStatus.OK, content)
    return slot


@given(st.integers(-2, 2))
def test_a_long_result_is_cut_and_the_cut_is_said(more: int) -> None:
    text = "x" * (LONGEST_SHOWN_RESULT + more)
    shown, size = shown_result(filled(text))
    assert size == len(text)
    assert shown == (text if more <= 0 else f"{text[:LONGEST_SHOWN_RESULT]}\n[{more} more characters not shown]")


def test_files_are_counted_and_an_open_slot_shows_nothing() -> None:
    image = BinaryContent(b"png", media_type="image/png")
    assert shown_result(filled([image, image]))[0].endswith("[2 file(s) for the model]")
    assert shown_result(Slot(0, ToolCallPart("t", {}, "id"))) == ("", 0)


def settled(scene: Scene, slot: Slot, result: Any) -> None:
    anyio.run(settle, scene.state, scene.deps, slot, CallStatus.OK, result)


def test_a_result_is_stored_and_shown_once() -> None:
    scene = Scene()
    (slot,) = scene.register(ToolCallPart("t", '{"a": 1}', "id"))
    slot.edited, slot.duration_ms = ["a.py"], 7
    scene.state.edited_files = ["a.py"]
    settled(scene, slot, "v")
    assert scene.ledger.rows == [("result", (0, CallStatus.OK))]
    assert slot.row == 1
    assert scene.memory.events == [ToolFinished("id", "t", CallStatus.OK, {"a": 1}, "v", 1, 7, ("a.py",))]
    assert scene.state.edited_files == ["a.py"]
    with pytest.raises(ValueError, match="already has a result"):
        settled(scene, slot, "w")


def test_a_result_that_cannot_be_stored_is_an_error_of_the_store() -> None:
    scene = Scene(ledger=Ledger(lambda number: True))
    (slot,) = scene.register(ToolCallPart("t", {}, "id"))
    with pytest.raises(StoreError):
        settled(scene, slot, "v")
    assert not slot.open


def recalled(scene: Scene, slot: Slot, known: KnownCall) -> None:
    anyio.run(recall, scene.state, scene.deps, slot, known)


@pytest.mark.parametrize("status", CallStatus)
def test_what_an_earlier_run_came_to_is_shown_and_not_written_again(status: CallStatus) -> None:
    scene = Scene()
    (slot,) = scene.register(ToolCallPart("t", '{"a": 1}', "id"))
    scene.state.edited_files = ["a.py"]
    part = ToolReturnPart("t", "v", "id")
    recalled(scene, slot, KnownCall(status, True, part, 9, 7, ("a.py", "b.py")))
    assert (slot.status, slot.result, slot.row, slot.edited) == (status, part, 9, ["a.py", "b.py"])
    assert scene.ledger.rows == []
    assert scene.memory.events == [ToolFinished("id", "t", status, {"a": 1}, "v", 1, 7, ("a.py", "b.py"))]
    assert scene.state.edited_files == ["a.py", "b.py"]
    assert scene.state.refused is (status is CallStatus.REFUSED)
    assert scene.state.usage.tool_calls == (status is CallStatus.OK)


def test_a_call_whose_end_nobody_knows_has_that_as_its_result() -> None:
    scene = Scene()
    (slot,) = scene.register(ToolCallPart("t", {}, "id"))
    recalled(scene, slot, KnownCall(CallStatus.UNKNOWN, True, None, None))
    assert scene.ledger.rows == [("result", (0, CallStatus.UNKNOWN))]
    assert (slot.row, slot.status) == (1, CallStatus.UNKNOWN)
    assert slot.result is not None
    assert (slot.result.content, slot.result.outcome) == (UNKNOWN_OUTCOME, "interrupted")
    assert [event.status for event in scene.memory.events if isinstance(event, ToolFinished)] == [CallStatus.UNKNOWN]


def nested(depth: int, shape: Callable[[Any], Any]) -> Any:
    value: Any = "core"
    for _ in range(depth):
        value = shape(value)
    return value


SHAPES: list[Callable[[Any], Any]] = [lambda inner: [inner], lambda inner: {"a": inner}]


@pytest.mark.parametrize("depth", [99, 250, 500, 900])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_deep_result_is_kept_whole(depth: int, shape: Callable[[Any], Any]) -> None:
    scene = Scene()
    (slot,) = scene.register(ToolCallPart("t", {}, "id"))
    settled(scene, slot, storable(nested(depth, shape)))
    part = slot.result
    assert part is not None
    assert "core" in part.model_response_str()
    assert PART.validate_json(PART.dump_json(part)) == part


KEY = "sk-TEST-123456"


@pytest.mark.parametrize(
    "result",
    [
        f"X_KEY={KEY}\n",
        {"env": [{KEY: f"a {KEY}"}]},
        BinaryContent(f"X_KEY={KEY}".encode(), media_type="text/plain"),
        ToolReturnPart("t", f"ToolFailed: no file {KEY}", "id", outcome="failed"),
    ],
)
def test_the_value_of_a_secret_variable_is_neither_kept_nor_shown(result: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_KEY", KEY)
    scene = Scene()
    (slot,) = scene.register(ToolCallPart("t", {}, "id"))
    settled(scene, slot, result)
    seen = repr((slot.result, scene.memory.events, scene.ledger.rows))
    assert KEY not in seen
    assert "[redacted X_KEY]" in seen
