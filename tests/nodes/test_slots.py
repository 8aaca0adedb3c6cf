from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import RetryInfo, ToolCallPart, ToolReturnPart
from turngraph.nodes.slots import CallStatus, Slot, ToolCallRegistry

STATUS = st.sampled_from(list(CallStatus))


def registry(*ids: str) -> ToolCallRegistry:
    found = ToolCallRegistry()
    for one in ids:
        found.register(ToolCallPart("look", {}, one))
    return found


@given(first=STATUS, second=STATUS)
def test_a_slot_is_filled_once(first: CallStatus, second: CallStatus) -> None:
    slot = registry("a").by_id("a")
    part = slot.fill(first, "one")
    with pytest.raises(ValueError, match=r"call 0 \(look\) already has a result"):
        slot.fill(second, "two")
    with pytest.raises(ValueError, match="already has a result"):
        slot.fill_with(second, ToolReturnPart("look", "three", "a"))
    assert (slot.status, slot.result, slot.open) == (first, part, False)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (CallStatus.OK, "success"),
        (CallStatus.ERROR, "failed"),
        (CallStatus.REFUSED, "denied"),
        (CallStatus.CANCELLED, "interrupted"),
        (CallStatus.UNKNOWN, "interrupted"),
    ],
)
def test_the_model_sees_how_a_call_ended(status: CallStatus, outcome: str) -> None:
    part = registry("a").slots[0].fill(status, "x")
    assert (part.outcome, part.tool_call_id, part.tool_name, part.content) == (outcome, "a", "look", "x")


def test_a_slot_is_found_by_its_id_within_one_reply_only() -> None:
    earlier, later = registry("K"), registry("K", "L")
    earlier.by_id("K").fill(CallStatus.OK, "old")
    assert later.by_id("K").open
    assert later.by_id("L").position == 1
    with pytest.raises(KeyError):
        earlier.by_id("L")


@given(filled=st.sets(st.integers(0, 5)), count=st.integers(1, 6))
def test_results_come_in_the_replys_order_and_only_when_all_are_there(filled: set[int], count: int) -> None:
    found = registry(*[f"c{number}" for number in range(count)])
    for position in sorted(filled & set(range(count)), reverse=True):
        found.slots[position].fill(CallStatus.OK, position)
    assert [slot.position for slot in found.open] == [n for n in range(count) if n not in filled]
    if found.open:
        with pytest.raises(ValueError, match=f"{len(found.open)} of {count} calls have no result"):
            found.results()
    else:
        assert [part.content for part in found.results()] == list(range(count))


@given(statuses=st.lists(STATUS))
def test_a_reply_is_refused_when_one_of_its_calls_is(statuses: list[CallStatus]) -> None:
    found = registry(*map(str, range(len(statuses))))
    for slot, status in zip(found.slots, statuses, strict=True):
        slot.fill(status, "x")
    assert found.refused == (CallStatus.REFUSED in statuses)


def test_retries_are_counted_from_the_results() -> None:
    """A tool that asked again counts once for a reply, one that did its work begins anew, others stay as they were."""

    def asked(slot: Slot) -> None:
        part = ToolReturnPart(slot.call.tool_name, "again", tool_call_id="x", outcome="retried")
        part.retry = RetryInfo(cause="validation_error", attempt=1, max_retries=1)
        slot.fill_with(CallStatus.ERROR, part)

    calls = ToolCallRegistry()
    for name in ("twice", "twice", "mixed", "mixed", "fine", "failed", "open"):
        calls.register(ToolCallPart(name))
    for slot in calls.slots[:3]:
        asked(slot)
    calls.slots[3].fill(CallStatus.OK, "done")
    calls.slots[4].fill(CallStatus.OK, "done")
    calls.slots[5].fill(CallStatus.ERROR, "broke")
    before = {"twice": 1, "fine": 1, "failed": 1, "absent": 1}
    assert calls.retries(before) == {"twice": 2, "mixed": 1, "failed": 1, "absent": 1}
