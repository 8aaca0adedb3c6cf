"""What the model says in a turn under test: drawn from a seed, with every kind of reply and call in it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import count

from ..scripted.replies import Call, Reply

SEEDS = range(3)


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
