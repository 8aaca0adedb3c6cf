"""A model that plays a script."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, TypeAlias

from pydantic_ai.messages import ModelMessage, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel

Part: TypeAlias = "str | ToolCallPart | Exception"
Reply: TypeAlias = "Part | Sequence[Part]"
"""What a model says to one request: text and calls in order; an exception is raised when it is reached."""


class ScriptedModel(FunctionModel):
    """Says one reply of a script to each request, and `Done.` after the last; `requests` keeps what it was asked.

    A text that begins with `thinking:` is thought and not said.
    """

    def __init__(self, *replies: Reply) -> None:
        super().__init__(stream_function=self._play, model_name="scripted")
        self.requests: list[list[ModelMessage]] = []
        self._replies = replies

    async def _play(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncGenerator[Any]:
        number = len(self.requests)
        self.requests.append(list(messages))
        reply = self._replies[number] if number < len(self._replies) else "Done."
        yield ""
        for index, part in enumerate([reply] if isinstance(reply, str | ToolCallPart | Exception) else reply, 1):
            if isinstance(part, Exception):
                raise part
            if isinstance(part, ToolCallPart):
                call_id = f"call-{number}-{index}"  # the same in each run, so that two runs can be compared
                yield {
                    index: DeltaToolCall(name=part.tool_name, json_args=part.args_as_json_str(), tool_call_id=call_id)
                }
            elif part.startswith("thinking:"):
                yield {0: DeltaThinkingPart(content=part.removeprefix("thinking:"))}
            else:
                yield part
