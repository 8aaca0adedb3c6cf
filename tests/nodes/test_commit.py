from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from turngraph.nodes.commit import commit
from turngraph.nodes.deps import KnownCall
from turngraph.nodes.errors import StoreError
from turngraph.nodes.events import ToolFinished
from turngraph.nodes.outcome import Outcome
from turngraph.nodes.results import settle
from turngraph.nodes.slots import CallStatus, Slot
from turngraph.nodes.state import TurnState
from turngraph.tools.effects import Effect

from .acting import NOON, Ledger, Scene

pytestmark = pytest.mark.anyio


def with_calls(*names: str, ledger: Ledger | None = None, effect: Effect = Effect.WRITE) -> tuple[Scene, list[Slot]]:
    scene = Scene(ledger=ledger)
    calls = [ToolCallPart(name, {}, f"id-{name}") for name in names]
    scene.state.unsealed = [scene.ledger.message(ModelRequest(parts=[]))]
    scene.replied(ModelResponse(parts=calls))
    return scene, scene.register(*calls, effect=effect)


def results_of(scene: Scene) -> list[ToolReturnPart]:
    parts = [part for message in scene.state.session.messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart)]


async def test_an_iteration_becomes_visible_as_one_unit_and_once() -> None:
    scene, slots = with_calls("a", "b")
    for slot in reversed(slots):
        await settle(scene.state, scene.deps, slot, CallStatus.OK, slot.call.tool_name.upper())
    reply = scene.state.reply
    assert await commit(scene.state, scene.deps) is None
    prompt_row, reply_row = 1, 2
    assert scene.ledger.of("seal") == [(1, [prompt_row, reply_row, [4, 3]])]
    assert [slot.row for slot in slots] == [4, 3]
    sealed, results = scene.state.session.messages
    assert sealed == reply
    assert isinstance(results, ModelRequest)
    assert [part.content for part in results.parts if isinstance(part, ToolReturnPart)] == ["A", "B"]
    assert results.timestamp == NOON
    assert (scene.state.reply, scene.state.reply_row, scene.state.unsealed, scene.state.batches) == (None, None, [], [])
    assert scene.state.session.tool_registry.slots == []

    assert await commit(scene.state, scene.deps, Outcome.INTERRUPTED, "stopped") is not None
    assert [seal for seal in scene.ledger.of("seal") if reply_row in seal[1]] == scene.ledger.of("seal")[:1]


@pytest.mark.parametrize(
    ("effect", "started", "status", "words"),
    [
        (Effect.READ_ONLY, False, CallStatus.CANCELLED, "Not run"),
        (Effect.WRITE, False, CallStatus.CANCELLED, "Not run"),
        (Effect.EXECUTE, False, CallStatus.CANCELLED, "Not run"),
        (Effect.READ_ONLY, True, CallStatus.CANCELLED, "only reads"),
        (Effect.WRITE, True, CallStatus.UNKNOWN, "outcome is unknown"),
        (Effect.EXECUTE, True, CallStatus.UNKNOWN, "outcome is unknown"),
    ],
)
async def test_an_open_slot_is_filled_with_what_is_known(
    effect: Effect, started: bool, status: CallStatus, words: str
) -> None:
    scene, (slot,) = with_calls("a", effect=effect)
    slot.started = started
    result = await commit(scene.state, scene.deps, Outcome.INTERRUPTED, "stopped")
    assert result is not None
    assert (slot.status, result.outcome, result.error) == (status, Outcome.INTERRUPTED, "stopped")
    (part,) = results_of(scene)
    assert part.outcome == "interrupted"
    assert words in part.model_response_str()
    assert [event.status for event in scene.memory.events if isinstance(event, ToolFinished)] == [status]


async def test_a_filled_slot_keeps_its_result() -> None:
    scene, slots = with_calls("a", "b")
    await settle(scene.state, scene.deps, slots[0], CallStatus.OK, "done")
    await commit(scene.state, scene.deps, Outcome.INTERRUPTED, "stopped")
    assert [slot.status for slot in slots] == [CallStatus.OK, CallStatus.CANCELLED]


@pytest.mark.parametrize("completed", [True, False])
async def test_a_reply_that_came_to_nothing_leaves_no_trace(completed: bool) -> None:
    scene, _ = with_calls()
    scene.state.task_completed = completed
    unsealed = list(scene.state.unsealed)
    await commit(scene.state, scene.deps)
    assert len(scene.ledger.of("seal")) == len(scene.state.session.messages) == int(completed)
    assert scene.state.unsealed == ([] if completed else unsealed)
    assert scene.state.reply is None


async def test_calls_that_nobody_registered_are_answered_too() -> None:
    """A variant may end an iteration without `Dispatch`; what is sealed must be whole all the same."""
    scene, _ = with_calls()
    scene.state.reply = ModelResponse(parts=[TextPart("Done."), ToolCallPart("a", {}, "x"), ToolCallPart("b", {}, "y")])
    scene.state.task_completed = True
    await commit(scene.state, scene.deps, Outcome.COMPLETED)
    assert [part.tool_call_id for part in results_of(scene)] == ["x", "y"]


class Wavering(Ledger):
    """Fails once, at one write."""

    def __init__(self, at: int) -> None:
        super().__init__(lambda number: number == at)


@pytest.mark.parametrize("at", range(3, 10))
@pytest.mark.parametrize("lasting", [True, False])
async def test_nothing_is_sealed_by_halves_when_the_store_fails(at: int, lasting: bool) -> None:
    ledger = Ledger(lambda number: number >= at) if lasting else Wavering(at)
    scene, slots = with_calls("a", "b", "c", ledger=ledger)
    scene.state.answer = "so far"
    slots[1].started = True
    with suppress(StoreError):
        await settle(scene.state, scene.deps, slots[0], CallStatus.OK, "x")
    result = await commit(scene.state, scene.deps, Outcome.INTERRUPTED, "stopped")
    assert result is not None
    assert not any(slot.open for slot in slots)
    finished = [event.call_id for event in scene.memory.events if isinstance(event, ToolFinished)]
    assert sorted(finished) == ["id-a", "id-b", "id-c"]
    for _, (prompt, reply, results) in ledger.of("seal")[:1]:
        assert (prompt, reply, len(results)) == (1, 2, 3)
    assert result.saved is (len(ledger.of("seal")) == 2)


@given(started=st.lists(st.booleans(), min_size=1, max_size=5), filled=st.sets(st.integers(0, 4)))
async def test_every_call_has_exactly_one_result_in_the_replys_order(started: list[bool], filled: set[int]) -> None:
    scene, slots = with_calls(*[str(number) for number in range(len(started))])
    for slot, running in zip(slots, started, strict=True):
        slot.started = running
    for position in filled & set(range(len(slots))):
        await settle(scene.state, scene.deps, slots[position], CallStatus.OK, "x")
    await commit(scene.state, scene.deps, Outcome.TERMINATED, "stopped")
    assert [part.tool_call_id for part in results_of(scene)] == [slot.call.tool_call_id for slot in slots]


async def test_the_answer_is_what_was_said_last_only_if_it_is_one() -> None:
    scene, _ = with_calls("a")
    scene.state.answer = "Let me look."
    result = await commit(scene.state, scene.deps, Outcome.BUDGET_EXHAUSTED, "spent")
    assert result is not None
    assert result.answer == ""


@pytest.mark.parametrize("outcome", [Outcome.COMPLETED, Outcome.REFUSED, Outcome.INTERNAL_ERROR])
async def test_an_answer_is_kept_however_the_turn_ends(outcome: Outcome) -> None:
    scene, _ = with_calls()
    scene.state.answer, scene.state.task_completed = "Done.", True
    result = await commit(scene.state, scene.deps, outcome)
    assert result is not None
    assert result.answer == "Done."


async def test_text_that_was_cut_off_is_shown_when_there_is_no_answer() -> None:
    scene, _ = with_calls()
    scene.state.answer = "It broke o"
    result = await commit(scene.state, scene.deps, Outcome.NO_ANSWER, "cut off")
    assert result is not None
    assert result.answer == "It broke o"


WORDS = {
    Outcome.INTERRUPTED: "it was interrupted",
    Outcome.TERMINATED: "the program was terminated",
    Outcome.ABORTED: "the user aborted it at a question",
    Outcome.BUDGET_EXHAUSTED: "its budget was spent",
    Outcome.PROVIDER_FAILURE: "the request to the model failed",
    Outcome.NO_ANSWER: "no usable reply came",
    Outcome.INTERNAL_ERROR: "an error stopped it",
    Outcome.USAGE_ERROR: "an error stopped it",
    Outcome.SESSION_BUSY: "an error stopped it",
}


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - {Outcome.COMPLETED, Outcome.REFUSED}))
async def test_the_next_turns_model_is_told_why_a_prompt_got_no_answer(outcome: Outcome) -> None:
    scene, _ = with_calls()
    scene.state.reply = scene.state.reply_row = None
    await commit(scene.state, scene.deps, outcome, "why")
    (said,) = scene.state.session.messages
    prompt_row, marker_row = 1, 3
    assert scene.ledger.of("seal") == [(1, [prompt_row, marker_row])]
    assert scene.ledger.of("message")[-1] == (said, None)
    assert text_of(said) == (
        f"[The request above was left without an answer: {WORDS[outcome]}. Nothing of it goes on by itself.]"
    )
    assert scene.state.unsealed == []


async def test_it_is_told_which_calls_have_an_unknown_outcome() -> None:
    scene, slots = with_calls("write", "bash", "write", "other")
    for slot in slots[:3]:
        slot.started = True
    await commit(scene.state, scene.deps, Outcome.INTERRUPTED, "stopped")
    assert "The outcome of 3 call(s) is unknown (bash, write): check before" in text_of(
        scene.state.session.messages[-1]
    )


async def test_it_is_told_once_where_the_end_is_made_again() -> None:
    """A process that is killed between its last seal and its end leaves both to the next."""
    scene, slots = with_calls("write")
    slots[0].started = True
    await commit(scene.state, scene.deps, Outcome.INTERRUPTED, "stopped")
    await commit(scene.state, scene.deps, Outcome.INTERRUPTED, "stopped")
    assert len(scene.ledger.of("seal")) == 2
    assert len(scene.state.session.messages) == 3


class Known:
    """An earlier run of the node has the result of one call, and broke off in another."""

    def reply(self, state: TurnState) -> None:
        return None

    def call(self, state: TurnState, slot: Slot) -> KnownCall | None:
        if slot.call.tool_name == "done":
            part = ToolReturnPart("done", "did it", tool_call_id=slot.call.tool_call_id)
            return KnownCall(CallStatus.OK, ran=True, part=part, row=77)
        return KnownCall(CallStatus.UNKNOWN, ran=True, part=None, row=None) if slot.call.tool_name == "begun" else None


async def test_what_the_journal_knows_of_a_call_is_its_result() -> None:
    """A resumed turn is stopped, or a killed one closed, before its node has got to the calls again (T1-04)."""
    scene, _ = with_calls("done", "begun", "fresh")
    await commit(scene.state, replace(scene.deps, past=Known()), Outcome.INTERRUPTED, "stopped")
    done, begun, fresh = results_of(scene)
    assert (done.content, done.outcome) == ("did it", "success")
    assert "outcome is unknown" in str(begun.content)
    assert "Not run" in str(fresh.content)
    (first, _) = scene.ledger.of("seal")
    assert first[1][-1][0] == 77


@pytest.mark.parametrize("outcome", [Outcome.COMPLETED, Outcome.REFUSED, Outcome.INTERRUPTED])
async def test_nothing_is_told_of_a_turn_that_gave_its_answer(outcome: Outcome) -> None:
    scene, _ = with_calls()
    scene.state.task_completed = True
    reply = scene.state.reply
    await commit(scene.state, scene.deps, outcome)
    assert scene.state.session.messages == [reply]


def text_of(message: ModelMessage) -> str:
    (part,) = message.parts
    assert isinstance(part, UserPromptPart)
    assert isinstance(part.content, str)
    return part.content
