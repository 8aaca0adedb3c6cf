"""What the model says in a turn under test: drawn from a seed, with every kind of reply and call in it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import count

from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from turngraph.nodes.slots import CallStatus, Slot

from ..flows.stored import head, outcome_of
from ..scripted.replies import Call, Reply
from .stage import Stage

SEEDS = range(3)
LONG = 120_000
"""Characters of an old result: so many that some are left out of the request."""


def story(seed: int) -> list[Reply]:
    """The replies of one turn.

    Calls to look, change and run side by side, some as text, some that cannot be; an empty reply, and thinking.
    No two calls have one number, so that what a call did can be told by it.
    """
    draw = random.Random(seed)
    numbers = count(1)

    def some(names: Sequence[str]) -> tuple[Call, ...]:
        return tuple(_call(name, next(numbers)) for name in draw.sample(names, len(names)))

    others = ["look", "change", "run", "forbidden", "unknown", "wrong"]
    opening = Reply(
        reasoning=draw.choice(["", "Let me think about it."]),
        text=draw.choice(["", "I begin."]),
        calls=some(["look", "look", "change", "run", *draw.choices(others, k=draw.randint(0, 3))]),
        finish="tool_calls",
    )
    written = json.dumps({"name": draw.choice(["look", "change", "run"]), "arguments": {"n": next(numbers)}})
    middle = [
        Reply(text=f"{draw.choice(['', 'I go on. '])}<tool_call>{written}</tool_call>"),
        Reply(),
        Reply(calls=some(draw.choices(others, k=draw.randint(1, 4))), finish="tool_calls"),
        Reply(calls=some(["run", "change"]), reasoning="Nearly there.", finish="tool_calls"),
    ]
    draw.shuffle(middle)
    return [opening, *middle, Reply(text="All is done.", reasoning=draw.choice(["", "That was it."]))]


def _call(name: str, number: int) -> Call:
    arguments = {"n": "many"} if name == "wrong" else {"n": number}
    return Call("look" if name == "wrong" else name, json.dumps(arguments), id=f"call-{number}")


def older(stage: Stage, seed: int) -> str | None:
    """The session that a story goes on with; the last has one with a history that is mended and pruned at first."""
    if seed != SEEDS[-1]:
        return None
    with stage.store() as store:
        session = store.create_session(str(stage.folder))
        for number in range(4):
            asked = ModelRequest(parts=[UserPromptPart(f"Look at {number}.")])
            call = ToolCallPart("look", {"n": number}, f"older-{number}")
            turn = head(session, f"{number:032x}", workdir=str(stage.folder))
            with store.begin_turn(turn, asked) as log:
                reply = log.message(ModelResponse(parts=[call]))
                slot = Slot(0, call)
                slot.fill(CallStatus.OK, "." * LONG)
                results = [] if number == 3 else [[log.result(1, slot)]]
                log.seal(1, [log.prompt_row, reply, *results])
                log.end(outcome_of(turn))
    return session
