"""A model that costs nothing, a tool that does nothing, and turns of ours with a store that is a real file."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from uuid import uuid4

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from turngraph import Effect, Limits, Outcome, Store, TurnResult, declare, run_turn


@dataclass
class Calling:
    """A stream function: so many replies with calls of a tool, then an answer."""

    replies: int
    tool: str = "add"
    arguments: str = '{"a": 1, "b": 2}'
    at_once: int = 1
    asked: int = 0
    name: str = field(default_factory=lambda: uuid4().hex)

    def model(self) -> FunctionModel:
        return FunctionModel(stream_function=self)

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncGenerator[str | DeltaToolCalls]:
        self.asked += 1
        if self.asked > self.replies:
            yield "done"
            return
        yield {
            place: DeltaToolCall(self.tool, self.arguments, tool_call_id=f"{self.name}-{self.asked}-{place}")
            for place in range(self.at_once)
        }


async def add(a: int, b: int) -> int:
    return a + b


def adding() -> FunctionToolset[object]:
    toolset = FunctionToolset[object]()
    toolset.add_function(add, metadata=declare(Effect.READ_ONLY))
    return toolset


async def turn(
    store: Store, calling: Calling, toolset: FunctionToolset[object], *, session: str | None = None
) -> TurnResult:
    """One turn of ours, completed."""
    iterations = calling.replies + 1
    result = await run_turn(
        "go",
        model=calling.model(),
        toolsets=[toolset],
        store=store,
        session=session,
        limits=Limits(max_iterations=iterations),
    )
    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, iterations), result.error
    return result
