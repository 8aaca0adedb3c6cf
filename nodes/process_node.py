"""The node that reads the reply: thoughts, usage, whether it is whole, and whether it is the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic_graph import Edge

from .. import nodes
from .errors import FlowError
from .guidance import ask_again
from .node import Ctx, TurnNode, go
from .parsing import may_hold_calls
from .reply import is_truncated, split_thoughts, text_of, tidy
from .request_log import log_node_details
from .state import AgentState
from .usage import count_usage


@dataclass
class ProcessNode(TurnNode):
    """Decide what the reply is: calls, perhaps calls as text, an answer, or nothing usable."""

    role = "process_node"
    state = AgentState.ASSISTANT

    async def run(
        self, ctx: Ctx
    ) -> (
        Annotated[nodes.Dispatch, Edge("calls, or text that may hold calls")]
        | Annotated[nodes.Persist, Edge("an answer, or nothing usable")]
    ):
        state, deps = ctx.state, ctx.deps
        if state.reply is None:
            raise FlowError("process_node was entered without a reply; a stream node must set state.reply")
        whole = tidy(state.reply)
        if state.reply_row is None or whole != state.reply:
            state.reply_row = deps.log.message(whole, replaces=state.reply_row)
        reply, thoughts = split_thoughts(whole)
        state.session.thoughts += thoughts
        count_usage(state, reply)
        state.reply, state.answer = reply, text_of(reply)
        log_node_details(state, reply)
        if reply.tool_calls:
            state.unusable_replies = 0
            return go(ctx, nodes.Dispatch)
        offered = {tool.name for tool in (await deps.toolbox.manager(state)).tool_defs}
        if may_hold_calls(state.answer, offered):
            return go(ctx, nodes.Dispatch)
        state.task_completed = True
        if not state.answer or is_truncated(reply, deps.limits.max_tokens):
            await ask_again(state, deps)
        return go(ctx, nodes.Persist)
