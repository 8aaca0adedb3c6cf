"""The first node: what was said before, made sendable, and the user's prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic_graph import Edge

from .. import nodes
from .events import Notice
from .history.prune import prune
from .history.sanitise import sanitise
from .node import Ctx, TurnNode, go
from .request_log import log_history_state, log_sanitised_history_state
from .said import prompt_message
from .state import AgentState


@dataclass
class PrepareHistory(TurnNode):
    """Mend and prune what was loaded, and put the user's prompt at its end."""

    role = "prepare_history"
    state = AgentState.USER_INPUT

    async def run(self, ctx: Ctx) -> Annotated[nodes.Stream, Edge("history ready")]:
        state, deps = ctx.state, ctx.deps
        log_history_state(state)
        messages, repairs = sanitise(state.session.messages)
        messages, pruned = prune(messages)
        for repair in repairs:
            state.history_row = deps.log.repair(repair)
            await deps.sink.emit(Notice("warning", f"history repaired: {repair}"))
        if pruned.results:
            state.history_row = deps.log.prune(pruned.whole)
            await deps.sink.emit(
                Notice(
                    "info",
                    f"{pruned.results} old tool results left out of the request (~{pruned.tokens} tokens)",
                )
            )
        log_sanitised_history_state(state, messages)
        prompt = prompt_message(state.prompt, state.started_at)
        state.session.messages = [*messages, prompt]
        state.unsealed = [deps.log.message(prompt)]
        return go(ctx, nodes.Stream)
