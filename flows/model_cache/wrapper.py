"""The model that records and replays."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import CompletedStreamedResponse, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from ...nodes.errors import ProviderError
from . import Mode
from .file import CacheFile
from .miss import explain
from .question import Question, Reader


class CachedModel(WrapperModel):
    """See `cached`. `skipped` counts the damaged lines of the file."""

    def __init__(self, wrapped: Model, mode: Mode, path: Path) -> None:
        super().__init__(wrapped)
        self.mode: Mode = mode
        self._file = CacheFile(path, read_only=mode == "strict")
        self.skipped = self._file.skipped
        self._reader = Reader(wrapped)
        self._requests = 0
        self._answered = Counter[str]()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        question = self._question(messages, model_settings, model_request_parameters)
        response = self._recorded(question)
        if response is None:
            response = await self.wrapped.request(messages, model_settings, model_request_parameters)
            self._record(question, response)
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        question = self._question(messages, model_settings, model_request_parameters)
        response = self._recorded(question)
        if response is not None:
            yield CompletedStreamedResponse(
                response, model_request_parameters=model_request_parameters, replay_events=True
            )
            return
        asking = self.wrapped.request_stream(messages, model_settings, model_request_parameters, run_context)
        async with asking as stream:
            yield stream
            self._record(question, stream.get())

    def _question(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> Question:
        self._requests += 1
        return self._reader.read(messages, settings, parameters)

    def _recorded(self, question: Question) -> ModelResponse | None:
        """The recorded reply, if the mode allows one; it counts as given.

        Raises:
            ProviderError: there is none, and the mode allows no other.
        """
        if self.mode == "record":
            return None
        number = self._answered[question.key] + 1
        response = self._file.find(question.key, number)
        if response is not None:
            self._answered[question.key] = number
        elif self.mode == "strict":
            raise ProviderError(explain(self._file, question, self._requests, number))
        return response

    def _record(self, question: Question, response: ModelResponse) -> None:
        """Write a whole reply. Of equal requests at once, the first reply to come is the first to be replayed."""
        if response.state == "complete":
            self._answered[question.key] += 1
            self._file.add(question.key, self._answered[question.key], question.request, response)
