"""Chat completions as servers other than OpenAI's speak them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse

if TYPE_CHECKING:
    from openai.types.chat.chat_completion_chunk import Choice, ChoiceDeltaToolCall


@dataclass
class CallPlaces:
    """Where the calls of one streamed reply belong, whatever index its server gives them.

    Some servers give every call the index 0, which would glue the calls together. A new id at an index that another
    id holds starts a new call; without ids, so does a name that comes when the arguments so far are whole.
    """

    _current: dict[int | None, int] = field(default_factory=dict[int | None, int])
    _ids: list[str | None] = field(default_factory=list[str | None])
    _args: list[str] = field(default_factory=list[str])

    def place(self, delta: ChoiceDeltaToolCall) -> int:
        """The number of the call, counted from 0, that a delta belongs to."""
        number = self._current.get(delta.index)
        name = delta.function.name if delta.function is not None else None
        if number is None or self._starts_anew(number, delta.id, name):
            number = len(self._ids)
            self._current[delta.index] = number
            self._ids.append(None)
            self._args.append("")
        self._ids[number] = self._ids[number] or delta.id
        self._args[number] += (delta.function.arguments if delta.function is not None else None) or ""
        return number

    def _starts_anew(self, number: int, call_id: str | None, name: str | None) -> bool:
        held = self._ids[number]
        if call_id and held:
            return call_id != held
        return bool(name) and not call_id and _is_object(self._args[number])


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


@dataclass
class CompatibleStream(OpenAIStreamedResponse):
    """A stream whose calls are told apart by more than their index."""

    _places: CallPlaces = field(default_factory=CallPlaces, init=False)

    def _map_tool_call_delta(self, choice: Choice) -> Iterable[ModelResponseStreamEvent]:
        for delta in choice.delta.tool_calls or []:
            delta.index = self._places.place(delta)
        return super()._map_tool_call_delta(choice)


class CompatibleChatModel(OpenAIChatModel):
    """A model behind a base URL."""

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return CompatibleStream


class CompatibleOllamaModel(OllamaModel):
    """An Ollama model behind a base URL."""

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return CompatibleStream
