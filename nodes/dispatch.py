"""The node that turns a reply's calls into batches that may run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic_ai.messages import TextPart, ToolCallPart
from pydantic_ai.tool_manager import ToolManager
from pydantic_graph import Edge

from .. import nodes
from ..tools.effects import Effect, effect_of
from .authorise import authorise
from .checks import check
from .events import ToolCalled
from .guidance import ask_again
from .node import Ctx, TurnNode, go
from .parsing import parse_calls
from .reply import encodable_data, is_truncated, text_of
from .request_log import log_dispatch_summary
from .results import recall, settle
from .slots import CallStatus, Slot
from .state import AgentState


@dataclass
class Dispatch(TurnNode):
    """Collect the calls, check names and arguments, ask the policy, and batch what may run."""

    role = "dispatch"
    state = AgentState.TOOL_EXECUTION

    async def run(
        self, ctx: Ctx
    ) -> Annotated[nodes.Execute, Edge("calls to run")] | Annotated[nodes.Persist, Edge("nothing to run")]:
        state = ctx.state
        manager = await ctx.deps.toolbox.manager(state)
        calls = self.collect(ctx, manager)
        state.task_completed = state.reply is not None and not calls
        if state.task_completed and state.reply and is_truncated(state.reply, ctx.deps.limits.max_tokens):
            await ask_again(state, ctx.deps)
        slots = [await self.register(ctx, manager, call) for call in calls]
        for slot in slots:
            await self.admit(ctx, manager, slot)
        if slots:
            state.refused = state.session.tool_registry.refused
        state.batches = batches([slot for slot in slots if slot.open])
        log_dispatch_summary(state)
        return go(ctx, nodes.Execute) if state.batches else go(ctx, nodes.Persist)

    def collect(self, ctx: Ctx, manager: ToolManager[Any]) -> list[ToolCallPart]:
        """The reply's structured calls, or those its text holds; then the reply is rewritten to carry them."""
        state = ctx.state
        if state.reply is None:
            return []
        if state.reply.tool_calls:
            return state.reply.tool_calls
        found, rest = parse_calls(text_of(state.reply), {tool.name for tool in manager.tool_defs})
        name = f"text-{state.request.request_id}-{state.iteration}"
        calls = [
            ToolCallPart(call.name, encodable_data(call.args), tool_call_id=f"{name}-{number}")
            for number, call in enumerate(found, 1)
        ]
        if calls:
            others = [part for part in state.reply.parts if not isinstance(part, TextPart)]
            texts = [TextPart(rest)] if rest else []
            reply = replace(state.reply, parts=[*others, *texts, *calls])
            state.reply_row = ctx.deps.log.message(reply, replaces=state.reply_row)
            state.reply, state.unusable_replies = reply, 0
        return calls

    async def register(self, ctx: Ctx, manager: ToolManager[Any], call: ToolCallPart) -> Slot:
        slot = ctx.state.session.tool_registry.register(call)
        tool = manager.get_tool_def(call.tool_name)
        slot.effect = effect_of(tool) if tool is not None else Effect.READ_ONLY
        await ctx.deps.sink.emit(ToolCalled(call.tool_call_id, call.tool_name, call.args_as_dict(), slot.effect))
        return slot

    async def admit(self, ctx: Ctx, manager: ToolManager[Any], slot: Slot) -> None:
        """Leave the slot open if its call may run; fill it with what is wrong otherwise."""
        state, deps = ctx.state, ctx.deps
        known = deps.past.call(state, slot)
        if known is not None and not known.ran:
            return await recall(state, deps, slot, known)
        verdict = await check(manager, slot.call, state.reply, deps.limits.max_tokens)
        if verdict.problem is not None:
            return await settle(state, deps, slot, CallStatus.ERROR, verdict.problem)
        refusal = await authorise(deps, slot, requires_approval=verdict.requires_approval)
        if refusal is not None:
            await settle(state, deps, slot, CallStatus.REFUSED, f"Refused: {refusal.reason}.")
        return None


def batches(slots: list[Slot]) -> list[list[int]]:
    """Positions in the order of running: all read-only calls side by side, then the others one by one."""
    reading = [slot.position for slot in slots if slot.effect is Effect.READ_ONLY]
    others = [[slot.position] for slot in slots if slot.effect is not Effect.READ_ONLY]
    return [reading, *others] if reading else others
