"""ProcessNode, with a second look at the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_graph import Edge

from ... import nodes
from ..asking import ask
from ..errors import ProviderError, UsageError
from ..events import Notice
from ..model_port import ModelPort
from ..node import Ctx
from ..persist import spent_budget
from ..reply import text_of
from ..usage import count_usage

INSTRUCTIONS = (
    "You check the answer of an assistant that works on files. Reply with OK alone if the answer does what was asked. "
    "Otherwise say in one or two sentences what is missing or wrong."
)
SPOKE = "critic: "


@dataclass
class Critic(nodes.ProcessNode):
    """Have the model judge each answer, and send a weak one back, once a turn.

    Trades a request for each answer, and at most one more round, for fewer answers that miss the point. The critic
    sees the request and the answer, not the work between. It is the same model, with the same blind spots, and where
    it fails the answer stands. What it said is kept among the turn's thoughts, by which it knows that it spoke.
    """

    async def run(
        self, ctx: Ctx
    ) -> (
        Annotated[nodes.Dispatch, Edge("calls, or text that may hold calls")]
        | Annotated[nodes.Persist, Edge("an answer, sent back or not; or nothing usable")]
    ):
        state = ctx.state
        successor = await super().run(ctx)
        spoke = any(thought.startswith(SPOKE) for thought in state.session.thoughts)
        answered = state.task_completed and successor.role == nodes.Persist.role
        if not answered or spoke or spent_budget(state, ctx.deps.limits) is not None:
            return successor
        critique = await self.critique(ctx)
        if critique is not None:
            state.session.thoughts.append(f"{SPOKE}{critique}")
            state.task_completed = False
            state.guidance = f"Your answer was:\n\n{state.answer}\n\nIt is not enough yet: {critique}\n\nAnswer again."
            await ctx.deps.sink.emit(Notice("info", f"the critic sent the answer back: {critique}"))
        return successor

    async def critique(self, ctx: Ctx) -> str | None:
        """What is wrong with the answer, or `None`."""
        state, model = ctx.state, ctx.deps.model.model
        port = ModelPort(model, instructions=INSTRUCTIONS)
        question = f"What was asked:\n\n{state.prompt}\n\nThe answer:\n\n{state.answer}"
        messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(question)], timestamp=ctx.deps.clock.now())]
        try:
            verdict, _ = await ask(ctx, port, about=messages)
        except (ProviderError, UsageError) as error:
            await ctx.deps.sink.emit(Notice("warning", f"the answer was not judged: {error}"))
            return None
        count_usage(ctx.state, verdict)
        said = text_of(verdict)
        return None if said.strip(" .!\"'*`").upper() in ("OK", "") else said
