from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolReturnPart, UserPromptPart
from turngraph.flows.flow import STANDARD
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.flows.store import Store
from turngraph.nodes.events import Notice
from turngraph.nodes.history.stamp import stamp
from turngraph.nodes.variants.window import latest_turns, window

from ..acting import NOON, Actor

pytestmark = pytest.mark.anyio

SAID = UserPromptPart(stamp("do it", NOON))
RESULT = ToolReturnPart("look", "1", "a")
PROMPT = ModelRequest(parts=[SAID])
AFTER_RESULTS = ModelRequest(parts=[RESULT, SAID])
REST: list[ModelMessage] = [
    ModelResponse(parts=[TextPart("done")]),
    ModelRequest(parts=[RESULT]),
    ModelRequest(parts=[UserPromptPart("[The request above was left without an answer.]")]),
]


@given(st.lists(st.sampled_from([PROMPT, AFTER_RESULTS, *REST])), st.integers(1, 5))
def test_a_window_is_the_end_of_the_history_from_a_prompt_on(messages: list[ModelMessage], turns: int) -> None:
    kept = latest_turns(messages, turns)
    assert messages[len(messages) - len(kept) + 1 :] == kept[1:]
    assert begun(kept) == min(turns, begun(messages))
    assert kept == messages or kept[0] == PROMPT
    assert latest_turns(kept, turns) == kept


def begun(messages: list[ModelMessage]) -> int:
    return sum(SAID in message.parts for message in messages)


async def test_the_model_sees_the_latest_turns_and_the_store_keeps_all() -> None:
    flow = STANDARD.swap(window(1))
    with Store.in_memory() as store:
        session = store.create_session("here")
        models = [Actor() for _ in range(3)]
        sink = MemorySink()
        for model in models:
            await run_turn("x", model=model, flow=flow, store=store, session=session, sink=sink)
        assert [len(model.requests[0]) for model in models] == [1, 3, 3]
        assert len(store.load_messages(session).messages) == 6
    said = [event.text for event in sink.events if isinstance(event, Notice)]
    assert said == ["2 earlier messages left out: only the last 1 turns are sent"]


def test_a_window_shows_something() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        window(0)
