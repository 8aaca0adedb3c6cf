"""Which model would answer and why, and which providers could."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from .report import Line, missing, ok, problem

if TYPE_CHECKING:
    from ..settings import Resolved

_CHOOSE = "turngraph run --model PROVIDER:NAME PROMPT, with the provider's key in its variable"


@dataclass(frozen=True)
class Provider:
    """A provider as pydantic-ai knows it: the variables that may hold its key, and the package it needs."""

    name: str
    keys: tuple[str, ...]
    module: str
    extra: str


PROVIDERS = (
    Provider("openai", ("OPENAI_API_KEY",), "openai", "openai"),
    Provider("anthropic", ("ANTHROPIC_API_KEY",), "anthropic", "anthropic"),
    Provider("google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), "google.genai", "google"),
    Provider("groq", ("GROQ_API_KEY",), "groq", "groq"),
    Provider("mistral", ("MISTRAL_API_KEY",), "mistralai", "mistral"),
    Provider("cohere", ("CO_API_KEY",), "cohere", "cohere"),
    Provider("xai", ("XAI_API_KEY",), "xai_sdk", "xai"),
    Provider("huggingface", ("HF_TOKEN",), "huggingface_hub", "huggingface"),
    Provider("azure", ("AZURE_OPENAI_API_KEY",), "openai", "openai"),
    Provider("openrouter", ("OPENROUTER_API_KEY",), "openai", "openai"),
    Provider("deepseek", ("DEEPSEEK_API_KEY",), "openai", "openai"),
    Provider("together", ("TOGETHER_API_KEY",), "openai", "openai"),
    Provider("fireworks", ("FIREWORKS_API_KEY",), "openai", "openai"),
    Provider("cerebras", ("CEREBRAS_API_KEY",), "openai", "openai"),
    Provider("moonshotai", ("MOONSHOTAI_API_KEY",), "openai", "openai"),
)


def lines(found: Callable[[], Resolved | None], workdir: Path) -> Iterator[Line]:
    from ...nodes.errors import UsageError
    from ..models import OFFLINE, create_model

    resolved = found()
    if resolved is None:
        yield missing("which model would answer is not known while the settings are wrong")
        return
    model, server = resolved.each["model"], resolved.each["base_url"]
    because = f"because {model.origin.where} says so" if model.origin.where else "because nothing names another"
    if model.value == OFFLINE:
        yield ok(f"offline would answer, {because}: a router by rules, no language model")
        yield missing("no language model is configured", _CHOOSE)
        return
    try:
        create_model(model.value, base_url=resolved.settings.base_url, root=workdir)
    except UsageError as error:
        yield problem(f"{error} ({because})", _mend(str(error)), blocks=True)
        return
    at = f" at {server.shown} (from {server.origin.where})" if resolved.settings.base_url else ""
    yield ok(f"{model.shown}{at} would answer, {because}; it was not asked")


def _mend(text: str) -> str:
    if command := re.search(r"run: (.+)$", text):
        return command[1]
    variable = re.search(r"needs the environment variable (\w+)", text)
    return f"export {variable[1]}=YOUR_KEY" if variable else _CHOOSE


def providers(environ: Mapping[str, str]) -> Iterator[Line]:
    """A line for each provider with a key in the environment, by the variable's name, and one for the others."""
    without: list[str] = []
    for one in PROVIDERS:
        variable = next((key for key in one.keys if environ.get(key)), None)
        if variable is None:
            without.append(f"{one.name} ({one.keys[0]})")
        elif _installed(one.module):
            yield ok(f"{one.name}: {variable} is set and its package is installed")
        else:
            mend = f"pip install 'pydantic-ai-slim[{one.extra}]'"
            yield problem(f"{one.name}: {variable} is set, and its package {one.module} is missing", mend)
    if without:
        yield missing(f"without a key: {', '.join(without)}")


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
