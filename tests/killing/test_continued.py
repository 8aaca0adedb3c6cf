"""A turn that was killed and is not resumed: the session's next turn closes it, and its model knows what was done."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from turngraph.flows.store import EndBody, ResultBody

from ..scripted.replies import say
from .conftest import Straight
from .points import ROLES, WHERE
from .stage import Stage, calls_begun, under_way
from .story import SEEDS, older, story
from .test_matrix import chosen

UNKNOWN = "outcome is unknown"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("where", WHERE)
def test_killed_and_continued(
    stage: Stage, straight: Callable[[int], Straight], where: str, role: str, seed: int
) -> None:
    stage.server.add(*story(seed))
    point, nth = chosen(dict(straight(seed)[0].passed), where, role, seed + 1)
    left, _ = stage.do(session=older(stage, seed), at=point, nth=nth)
    assert left.killed, (point, nth)
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
        session = store.turn_body(turn).head.session_id
        journal = store.journal(turn)
    done = stage.effects
    stage.server.script.clear()
    stage.server.add(say("Nothing more."))
    report = stage.finish(session=session, prompt="And now?")

    assert (report.outcome, report.answer) == ("completed", "Nothing more.")
    assert stage.effects == done, "a call of the killed turn ran"
    messages = stage.server.last.messages
    assert messages[-1]["role"] == "user"
    told = {message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"}
    prompts = "\n".join(stage.server.last.prompts)
    assert "Do the work." in prompts
    assert "And now?" in prompts
    ended = journal[-1].kind == "end"
    answered = any("All is done." in str(message["content"]) for message in messages if message["role"] == "assistant")
    assert ("left without an answer" in prompts) == (not answered)
    unknown = under_way(journal)
    for call_id in calls_begun(journal):
        assert (UNKNOWN in told[call_id]) == (call_id in unknown), told[call_id]
    for record in journal:
        if isinstance(record.body, ResultBody) and record.body.part.tool_call_id in told:
            assert told[record.body.part.tool_call_id] == record.body.part.model_response_str()
    assert any("was cut off" in warning for warning in report.warnings) == (not ended)
    with stage.store() as store:
        end = store.journal(turn)[-1].body
    assert isinstance(end, EndBody)
    assert end.result.outcome in ("completed", "refused") if ended else end.result.outcome == "interrupted"
