"""PrepareHistory, for long sessions: the latest turns only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic_ai.messages import ModelMessage, UserPromptPart
from pydantic_graph import Edge

from ... import nodes
from ..events import Notice
from ..history.stamp import unstamp
from ..history.tail import tail
from ..node import Ctx
from .setting import with_settings


@dataclass
class SlidingWindow(nodes.PrepareHistory):
    """Send the latest turns of the session only; the store keeps them all.

    Trades memory for a bounded request: what was said before the window is unknown to the model, and a provider's
    cache of the beginning of the history is of no use once the window moves.
    """

    turns: ClassVar[int] = 10

    async def run(self, ctx: Ctx) -> Annotated[nodes.Stream, Edge("history ready")]:
        messages = ctx.state.session.messages
        kept = latest_turns(messages, self.turns)
        if left_out := len(messages) - len(kept):
            ctx.state.session.messages = kept
            text = f"{left_out} earlier messages left out: only the last {self.turns} turns are sent"
            await ctx.deps.sink.emit(Notice("info", text))
        return await super().run(ctx)


def latest_turns(messages: list[ModelMessage], turns: int) -> list[ModelMessage]:
    """The messages from the `turns`-th last prompt of the user on."""
    begins = [at for at, message in enumerate(messages) if any(map(_is_prompt, message.parts))]
    return tail(messages, len(messages) - begins[-turns]) if len(begins) > turns else messages


def _is_prompt(part: object) -> bool:
    return isinstance(part, UserPromptPart) and isinstance(part.content, str) and unstamp(part.content) != part.content


def window(turns: int = SlidingWindow.turns) -> type[SlidingWindow]:
    """A `SlidingWindow` over this many earlier turns.

    Raises:
        ValueError: fewer than one.
    """
    if turns < 1:
        raise ValueError(f"a window of {turns} turns shows nothing; it takes at least 1")
    return with_settings(SlidingWindow, turns, turns=turns)
