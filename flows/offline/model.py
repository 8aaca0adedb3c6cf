"""The offline router as a pydantic-ai model, so that it takes a model's place anywhere."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from ...nodes.errors import UsageError
from .request import Request
from .rules import RULES, route
from .telling import answer, open_ends

NAME = "offline"
_CONFIGURE = "with --model provider:name or TURNGRAPH_MODEL, or --base-url URL --model NAME for a server of your own"


def offline_model(root: Path | None = None) -> Model:
    """The offline router for the files under `root`, the working directory unless given.

    It answers a few kinds of request by rule: it calls one tool and shows what that tool said. It reaches no network
    and reports no tokens. Its requests raise `UsageError` when no rule understands all that was asked, or when the
    tool for it is not offered.
    """
    return OfflineModel(root or Path.cwd())


class OfflineModel(Model):
    """See `offline_model`."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root

    @property
    def model_name(self) -> str:
        return NAME

    @property
    def system(self) -> str:
        return ""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        offered = {tool.name for tool in model_request_parameters.function_tools}
        return _reply(messages, offered, self._root)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        reply = await self.request(messages, model_settings, model_request_parameters)
        yield _Stream(model_request_parameters, reply=reply)


@dataclass
class _Stream(StreamedResponse):
    """A reply in pieces: a call at once, a text line by line."""

    _: KW_ONLY
    reply: ModelResponse
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        self.finish_reason = self.reply.finish_reason

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        for call in self.reply.tool_calls:
            yield self._parts_manager.handle_tool_call_part(
                vendor_part_id=call.tool_call_id,
                tool_name=call.tool_name,
                args=call.args_as_dict(),
                tool_call_id=call.tool_call_id,
            )
        for line in (self.reply.text or "").splitlines(keepends=True):
            for event in self._parts_manager.handle_text_delta(vendor_part_id="text", content=line):
                yield event

    async def close_stream(self) -> None:
        """There is no connection to close."""

    @property
    def model_name(self) -> str:
        return NAME

    @property
    def provider_name(self) -> str | None:
        return None

    @property
    def provider_url(self) -> str | None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self.started


def _reply(messages: Sequence[ModelMessage], offered: Collection[str], root: Path) -> ModelResponse:
    results, asked = open_ends(messages[-1].parts if messages and isinstance(messages[-1], ModelRequest) else [])
    if results:
        text = answer(results, messages, offered, root)
        return ModelResponse(parts=[TextPart(text)], model_name=NAME, finish_reason="stop")
    return ModelResponse(parts=[_call(asked, offered, root)], model_name=NAME, finish_reason="tool_call")


def _call(asked: str, offered: Collection[str], root: Path) -> ToolCallPart:
    routed = route(Request.read(asked, root))
    if routed is None:
        kinds = "; ".join(f"{rule.kind} ({rule.example})" for rule in RULES)
        raise UsageError(
            f"no language model is configured, and the offline router has no rule for this request: it can {kinds}; "
            f"for anything else configure a model {_CONFIGURE}"
        )
    rule, plan = routed
    if rule.tool not in offered:
        raise UsageError(
            f"the offline router needs the tool {rule.tool} to {rule.kind}, and it is not offered; offer it, or "
            f"configure a model {_CONFIGURE}"
        )
    return ToolCallPart(rule.tool, plan.arguments)
