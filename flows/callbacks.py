"""The five callbacks of the conversation-turn spec, adapted: four hear events, one decides about calls.

| callback               | signature                                          | becomes              |
|------------------------|----------------------------------------------------|----------------------|
| `streaming_callback`   | `async (str) -> None`                              | `TextDelta`          |
| `tool_callback`        | `async (ToolCallPart, node) -> None`               | a `Policy`           |
| `tool_result_callback` | `(name, status, args, result, duration_ms) -> None`| `ToolFinished`       |
| `tool_start_callback`  | `(str) -> None`, the tool's name                   | `ToolStarted`        |
| `tool_progress_callback`| `(str) -> None`, the progress text                | `ToolProgress`       |
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai.messages import ToolCallPart

from ..nodes.errors import TurnAborted, TurngraphError
from ..nodes.events import Event, TextDelta, ToolFinished, ToolProgress, ToolStarted
from ..tools.policy import Abort, Allow, CallRequest, Decision, Refuse

StreamingCallback = Callable[[str], Awaitable[None]]
ToolCallback = Callable[[ToolCallPart, Any], Awaitable[None]]
ToolResultCallback = Callable[[str, str, Any, str, int], None]
ToolStartCallback = Callable[[str], None]
ToolProgressCallback = Callable[[str], None]


class ToolDenied(TurngraphError):
    """Raised by a `tool_callback` to refuse a call; its text is the reason that the model is told."""


class CallbackSink:
    """A sink that calls back; a callback that is not given hears nothing."""

    def __init__(
        self,
        *,
        streaming_callback: StreamingCallback | None = None,
        tool_result_callback: ToolResultCallback | None = None,
        tool_start_callback: ToolStartCallback | None = None,
        tool_progress_callback: ToolProgressCallback | None = None,
    ) -> None:
        self._streaming = streaming_callback
        self._result = tool_result_callback
        self._start = tool_start_callback
        self._progress = tool_progress_callback

    async def emit(self, event: Event) -> None:
        match event:
            case TextDelta() if self._streaming:
                await self._streaming(event.text)
            case ToolFinished() if self._result:
                self._result(event.name, event.status.value, event.args, event.result, event.duration_ms)
            case ToolStarted() if self._start:
                self._start(event.name)
            case ToolProgress() if self._progress:
                self._progress(event.text)
            case _:
                return


class CallbackPolicy:
    """A policy that asks a `tool_callback` about every call, the harmless ones too.

    The callback allows by returning, refuses by raising `ToolDenied(reason)` and ends the turn by raising
    `TurnAborted`. Its second argument, in the spec the node of the run, is the `CallRequest`: what the call
    may do.
    """

    def __init__(self, tool_callback: ToolCallback) -> None:
        self._callback = tool_callback

    def asks(self, request: CallRequest) -> bool:
        return True

    async def decide(self, request: CallRequest) -> Decision:
        part = ToolCallPart(tool_name=request.tool_name, args=dict(request.args), tool_call_id=request.call_id)
        try:
            await self._callback(part, request)
        except ToolDenied as denied:
            return Refuse(str(denied) or f"{request.tool_name} was denied")
        except TurnAborted:
            return Abort()
        return Allow()
