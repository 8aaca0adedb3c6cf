"""Single requests to a cached model, and a file of records to look at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from turngraph.flows.model_cache import Mode, cached
from turngraph.flows.testing.model import Reply, ScriptedModel


def prompt(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


async def asked(
    model: Model,
    messages: list[ModelMessage],
    parameters: ModelRequestParameters | None = None,
    settings: ModelSettings | None = None,
) -> ModelResponse:
    """One streamed request, read to its end."""
    async with model.request_stream(messages, settings, parameters or ModelRequestParameters()) as stream:
        async for _ in stream:
            pass
        return stream.get()


def ask(model: Model, *messages: ModelMessage, **how: Any) -> ModelResponse:
    return anyio.run(lambda: asked(model, list(messages), **how))


def recorder(path: Path, *replies: Reply, mode: Mode = "record") -> Model:
    return cached(ScriptedModel(*replies), mode, path)


def strict(path: Path) -> Model:
    return cached(ScriptedModel(AssertionError("a strict model asked")), "strict", path)


def record(path: Path, *pairs: tuple[str, str]) -> None:
    """Record one reply to each prompt."""
    model = recorder(path, *(reply for _, reply in pairs))
    for text, _ in pairs:
        ask(model, prompt(text))


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
