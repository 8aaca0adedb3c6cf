"""SIGINT and SIGTERM at every kind of point: the turn ends in order, and its session goes on."""

from __future__ import annotations

import pytest

from ..scripted.replies import say
from .commands import command, perform, work
from .points import ROLES, WHERE
from .stage import Stage, under_way

CODES = {"SIGINT": (130, "interrupted"), "SIGTERM": (143, "terminated")}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("where", WHERE)
def test_stopped_in_order(stage: Stage, where: str, role: str) -> None:
    number = ("SIGINT", "SIGTERM")[(WHERE.index(where) + ROLES.index(role)) % 2]
    code, outcome = CODES[number]
    point = {"middle": f"middle:{role}", "seal": f"seal:{role}:committed"}.get(where, f"{where}:{role}")
    if (where, role) == ("middle", "execute"):
        point = "before:execute"
    stage.server.tell(*work())
    left, document = perform(stage, command(stage, "run", "Do the work.", at=point, then=number))
    assert left.code == code, document
    assert (document["outcome"], document["saved"], document["answer"]) == (outcome, True, "")
    with stage.store() as store:
        (turn,) = store.latest_turns(1)
        journal = store.journal(turn)
        assert journal[-1].kind == "end"
        assert under_way(journal) == set()
    stage.assert_nothing_twice()
    begun = stage.begun

    refused, document = perform(stage, command(stage, "turn", "resume", turn))
    assert refused.code == 2
    assert "has ended" in document["error"]["message"]
    stage.server.tell(say("Nothing more."))
    left, document = perform(stage, command(stage, "run", "And now?", "--continue"))
    assert (left.code, document["answer"]) == (0, "Nothing more.")
    assert "left without an answer" in "\n".join(stage.server.last.prompts)
    assert stage.begun == begun, "a call of the turn that was stopped ran"
