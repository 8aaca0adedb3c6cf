"""Stream, several times: the reply that most agree on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, ClassVar

import anyio
from pydantic_ai.messages import ModelResponse
from pydantic_graph import Edge

from ... import nodes
from ..asking import ask, show
from ..errors import ProviderError
from ..events import Notice
from ..node import Ctx, go
from ..reply import text_of
from ..usage import count_usage
from .fault import fault_of
from .setting import with_settings

Received = tuple[ModelResponse, int]
"""A reply, and its row in the store."""

MOST_ATTEMPTS = 16
"""Each is a whole request at once: a slip of the finger must not become a bill."""


@dataclass
class BestOf(nodes.Stream):
    """Ask the model several times at once and go on with one reply: of the usable ones, what most of them say.

    Trades money for steadiness: each iteration costs `attempts` requests, and the answer appears in one piece. Calls
    agree often, free text hardly ever, where the first usable reply wins; at temperature 0 it is of no use.
    """

    attempts: ClassVar[int] = 3

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply chosen")]:
        state, deps = ctx.state, ctx.deps
        state.iteration += 1
        state.answer = ""
        replies, failures = await self.replies(ctx)
        if not replies:
            raise failures[0]
        best, row = await choose(ctx, replies)
        for reply, _ in replies:
            if reply is not best:
                count_usage(state, reply)
        text = f"1 of {len(replies)} replies is used; {len(failures)} of {self.attempts} requests failed"
        await deps.sink.emit(Notice("warning" if failures else "info", text))
        state.reply, state.reply_row, state.guidance = best, row, None
        await show(ctx, best)
        return go(ctx, nodes.ProcessNode)

    async def replies(self, ctx: Ctx) -> tuple[list[Received], list[ProviderError]]:
        replies: list[Received] = []
        failures: list[ProviderError] = []

        async def attempt() -> None:
            try:
                replies.append(await ask(ctx, ctx.deps.model))
            except ProviderError as error:
                failures.append(error)

        await ctx.deps.toolbox.manager(ctx.state)
        async with anyio.create_task_group() as group:
            for _ in range(self.attempts):
                group.start_soon(attempt)
        return replies, failures


async def choose(ctx: Ctx, replies: list[Received]) -> Received:
    """The first of the usable replies that most of them agree on; of unusable ones where there is no other."""
    usable = [one for one in replies if await fault_of(ctx, one[0]) is None] or replies
    votes = Counter(_meaning(reply) for reply, _ in usable)
    return max(usable, key=lambda one: votes[_meaning(one[0])])


def _meaning(reply: ModelResponse) -> str:
    """What a reply does, in a form that two can be compared by: its calls, or its text."""
    calls = [(call.tool_name, sorted(call.args_as_dict().items(), key=str)) for call in reply.tool_calls]
    return repr(calls) if calls else " ".join(text_of(reply).split()).casefold()


def best_of(attempts: int = BestOf.attempts) -> type[BestOf]:
    """A `BestOf` of this many requests.

    Raises:
        ValueError: fewer than two, or more than `MOST_ATTEMPTS`.
    """
    if attempts < 2:
        raise ValueError(f"the best of {attempts} needs no choosing; it takes at least 2")
    if attempts > MOST_ATTEMPTS:
        raise ValueError(f"{attempts} requests for one reply are too many; ask for at most {MOST_ATTEMPTS}")
    return with_settings(BestOf, attempts, attempts=attempts)
