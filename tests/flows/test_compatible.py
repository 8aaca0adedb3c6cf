"""The calls of one streamed reply are told apart, whatever index their server gives them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.chat_completion_chunk import ChoiceDeltaToolCall, ChoiceDeltaToolCallFunction
from turngraph.flows.compatible import CallPlaces

Call = tuple[str | None, str, str]


def deltas(calls: list[Call], indices: list[int], cuts: int) -> list[ChoiceDeltaToolCall]:
    """Each call's head with its id and name, then its arguments in pieces, without id and name."""
    made: list[ChoiceDeltaToolCall] = []
    for (call_id, name, args), index in zip(calls, indices, strict=True):
        head = ChoiceDeltaToolCallFunction(name=name, arguments="")
        made.append(ChoiceDeltaToolCall(index=index, id=call_id, function=head, type="function"))
        size = max(1, len(args) // cuts)
        for start in range(0, len(args), size):
            piece = ChoiceDeltaToolCallFunction(arguments=args[start : start + size])
            made.append(ChoiceDeltaToolCall(index=index, function=piece))
    return made


def gathered(stream: list[ChoiceDeltaToolCall]) -> list[tuple[str, str]]:
    places = CallPlaces()
    calls: dict[int, tuple[str, str]] = {}
    for delta in stream:
        name, args = calls.get(place := places.place(delta), ("", ""))
        function = delta.function
        assert function is not None
        calls[place] = (name + (function.name or ""), args + (function.arguments or ""))
    return [calls[number] for number in sorted(calls)]


ARGS = st.dictionaries(st.text(max_size=3), st.integers(), max_size=3).map(json.dumps)


@pytest.mark.parametrize("zeros", [True, False], ids=["index 0 for all", "an index each"])
@pytest.mark.parametrize("with_ids", [True, False], ids=["ids", "no ids"])
@given(names=st.lists(st.sampled_from(["read_file", "write_file"]), min_size=1, max_size=4), data=st.data())
def test_calls_are_told_apart(zeros: bool, with_ids: bool, names: list[str], data: st.DataObject) -> None:
    calls: list[Call] = [
        (f"id{number}" if with_ids else None, name, data.draw(ARGS)) for number, name in enumerate(names)
    ]
    indices = [0 if zeros else number for number in range(len(calls))]
    stream = deltas(calls, indices, data.draw(st.integers(1, 8)))
    assert gathered(stream) == [(name, args) for _, name, args in calls]


def test_an_id_on_every_delta_is_one_call() -> None:
    stream = deltas([("c", "f", '{"a": 1}')], [0], 4)
    for delta in stream:
        delta.id = "c"
    assert gathered(stream) == [("f", '{"a": 1}')]
