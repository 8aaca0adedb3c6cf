"""Which model answers: a specification such as `openai:gpt-5-mini` becomes a pydantic-ai model.

The model owns the one HTTP client that all its requests share: make it once a process and enter it
(`async with model:`) around the turns, so that its connections are closed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..nodes.errors import UsageError
from ..tools.secret import Secrets

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

OFFLINE = "offline"
_OWN_PROVIDER = ("ollama", "vllm")
_KEYLESS = "no-key"


def create_model(spec: str, *, base_url: str | None = None, root: Path | None = None) -> Model:
    """The model a specification names.

    `offline` is the router without a language model, which looks at the files under `root` (the working
    directory unless given). With `base_url`, any server that speaks OpenAI's chat completions: the
    specification is then the server's own name for its model, alone or after `openai:`, `openai-chat:`,
    `ollama:` or `vllm:`. Without it, any `provider:model` of pydantic-ai.

    Raises:
        UsageError: no such model, a missing key or package, or a base URL that is none.
    """
    spec = spec.strip()
    if spec == OFFLINE:
        from .offline import offline_model

        return offline_model(root)
    try:
        return _infer(spec) if not base_url else _compatible(spec, base_url)
    except UsageError:
        raise
    except ImportError as error:
        raise UsageError(_missing_package(spec, error)) from error
    except Exception as error:
        # Without its cause: the text of a provider's own error may hold a key.
        raise UsageError(_one_sentence(spec, error)) from None


def _infer(spec: str) -> Model:
    from pydantic_ai.models import infer_model

    provider, name = _split(spec)
    if provider in _OWN_PROVIDER and name:
        return _own_model(provider, name, None)
    if spec.endswith(":"):
        raise UsageError(f"the model {spec!r} names a provider and no model; write --model {spec}NAME")
    return infer_model(spec)


def _compatible(spec: str, base_url: str) -> Model:
    _check_url(base_url)
    provider, name = _split(spec)
    if not name:
        raise UsageError("a base URL needs the name of a model of that server; write --model NAME")
    if provider in (None, "openai", "openai-chat"):
        return _chat_model(name, base_url)
    if provider not in _OWN_PROVIDER:
        raise UsageError(
            f"{provider} cannot be reached through a base URL, which speaks OpenAI's chat completions; write "
            f"--model openai-chat:{name} for such a server, or --base-url '' to reach {provider} itself"
        )

    return _own_model(provider, name, base_url)


def _own_model(provider: str, name: str, base_url: str | None) -> Model:
    """A model of Ollama or vLLM, by pydantic-ai's own provider; without a base URL that reads its usual variable."""
    from pydantic_ai.providers import infer_provider_class

    from .compatible import CompatibleChatModel, CompatibleOllamaModel

    cls: Any = infer_provider_class(provider)
    reached: Provider[Any] = cls(base_url=base_url) if base_url else cls()
    return (CompatibleOllamaModel if provider == "ollama" else CompatibleChatModel)(name, provider=reached)


def _chat_model(name: str, base_url: str) -> Model:
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider

    from .compatible import CompatibleChatModel

    provider = OpenAIProvider(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY") or _KEYLESS)
    reasons = bool((provider.model_profile(name) or {}).get("openai_supports_reasoning"))
    profile = OpenAIModelProfile(
        # Servers of others know the older names only; OpenAI's own reasoning models only the newer one.
        openai_chat_supports_max_completion_tokens=reasons,
        openai_supports_strict_tool_definition=False,
        openai_chat_supports_allowed_tools=False,
        openai_chat_supports_multiple_system_messages=False,
    )
    return CompatibleChatModel(name, provider=provider, profile=profile)


def _split(spec: str) -> tuple[str | None, str]:
    """A provider that pydantic-ai knows and the rest; names of local models may hold colons themselves."""
    from pydantic_ai.providers import infer_provider_class

    prefix, colon, rest = spec.partition(":")
    if not colon:
        return None, spec
    try:
        infer_provider_class(prefix)
    except ValueError:
        return None, spec
    except ImportError:
        return prefix, rest
    return prefix, rest


def _check_url(base_url: str) -> None:
    credentials, _, shown = base_url.partition("?")[0].rpartition("@")
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, usable = urlsplit(""), False
    if not usable or re.search(r"\s", base_url):
        raise UsageError(f"the base URL {shown!r} is none; write it like http://localhost:8080/v1")
    if credentials:
        raise UsageError(f"the base URL of {shown!r} holds credentials; set OPENAI_API_KEY instead")
    if parts.query or parts.fragment:
        raise UsageError(f"the base URL {shown!r} has a query or fragment; leave off what follows the path")
    if parts.path.rstrip("/").endswith("/completions"):
        raise UsageError(f"the base URL {shown!r} names one endpoint; leave '/chat/completions' off")


def _missing_package(spec: str, error: ImportError) -> str:
    extra = re.search(r"pydantic-ai-slim\[([\w-]+)\]", str(error))
    if extra is None:
        return f"the model {spec} needs a package that cannot be imported: {' '.join(str(error).split())}"
    return f"the model {spec} needs a missing package; run: pip install 'pydantic-ai-slim[{extra[1]}]'"


def _one_sentence(spec: str, error: Exception) -> str:
    secrets = Secrets(os.environ)
    text = secrets.redact(" ".join(str(error).split()))
    variables = re.findall(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`", text)
    if text.startswith("Unknown model"):
        hint = re.search(r"Did you mean '([^']+)'", text)
        advice = f"did you mean {hint[1]}?" if hint else "write provider:model, such as openai:gpt-5-mini"
        return f"no model is called {secrets.redact(spec)!r}; {advice}"
    if variables:
        return f"the model {spec} needs the environment variable {' or '.join(dict.fromkeys(variables))}"
    return f"the model {spec} cannot be set up: {text or type(error).__name__}"
