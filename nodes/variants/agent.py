"""Stream, Dispatch and Execute, through an existing pydantic-ai agent: its instructions, tools and capabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse
from pydantic_graph import Edge

from ... import nodes
from ..asking import delta_of, show
from ..errors import FlowError, ProviderError
from ..model_port import provider_errors, with_guidance
from ..node import Ctx, TurnNode, go
from .agent_run import short_run, with_tools
from .setting import with_settings


@dataclass
class AgentStream(nodes.Stream):
    """One model request as the agent makes it: with its instructions, its tools, and the hooks of its capabilities.

    Trades speed for what an agent already has: each of the three nodes opens a short run of it, some 10 ms of CPU, in
    which the whole history is read again. Hooks see three short runs an iteration, and its output is text.
    """

    agent: ClassVar[Agent[Any, Any]]

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        state, deps = ctx.state, ctx.deps
        state.iteration += 1
        state.answer = ""
        known = deps.past.reply(state)
        if known is None:
            try:
                reply = deps.secrets.redact_data(await self.reply(ctx))
            except ProviderError as error:
                deps.log.failure(error)
                raise
            known = reply, deps.log.message(reply)
        else:
            await show(ctx, known[0])
        state.reply, state.reply_row = known
        state.guidance = None
        return go(ctx, nodes.ProcessNode)

    async def reply(self, ctx: Ctx) -> ModelResponse:
        """What the model answers to the agent's request; it is shown as it comes."""
        state, deps = ctx.state, ctx.deps
        messages = state.session.messages
        if state.guidance is not None:
            messages = with_guidance(messages, state.guidance)
        with provider_errors(deps.model.name):
            async with short_run(self.agent, ctx, messages) as run:
                await anext(run)
                node = await anext(run)
                if not Agent.is_model_request_node(node):
                    raise FlowError(f"the agent went on to {type(node).__name__} where it should ask its model")
                async with node.stream(run.ctx) as response:
                    async for event in response:
                        if (delta := delta_of(event)) is not None:
                            await deps.sink.emit(delta)
                    return response.response


@dataclass
class AgentDispatch(nodes.Dispatch):
    """Check the calls against the agent's tools; the policy and all else as ever. See `AgentStream`."""

    agent: ClassVar[Agent[Any, Any]]

    async def run(
        self, ctx: Ctx
    ) -> Annotated[nodes.Execute, Edge("calls to run")] | Annotated[nodes.Persist, Edge("nothing to run")]:
        async with with_tools(self.agent, ctx) as live:
            return await super().run(live)


@dataclass
class AgentExecute(nodes.Execute):
    """Run the calls with the agent's tools, and the hooks of its capabilities around them. See `AgentStream`.

    How often a tool asked the model to try again is counted anew with each reply.
    """

    agent: ClassVar[Agent[Any, Any]]

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("results in")]:
        async with with_tools(self.agent, ctx) as live:
            return await super().run(live)


def agent_nodes(agent: Agent[Any, Any]) -> tuple[type[TurnNode], ...]:
    """The three nodes that run a turn through an agent; swap them in together."""
    name = agent.name or "agent"
    return tuple(with_settings(node, name, agent=agent) for node in (AgentStream, AgentDispatch, AgentExecute))
