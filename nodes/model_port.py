"""The turn's way to its model: what goes on the wire, and how failures come back."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace

from pydantic_ai.exceptions import ModelHTTPError, UserError
from pydantic_ai.messages import InstructionPart, ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ..tools.secret import Secrets
from .errors import ContextOverflow, ProviderError, TurngraphError, UsageError
from .history.sanitise import sanitise
from .history.wire import distinct_ids, one_prompt, own_thoughts
from .overflow import body_message, is_overflow

_LONGEST_PROVIDER_MESSAGE = 500


class ModelPort:
    """One model for one turn.

    A provider needs its history in a prepared shape, and preparing costs time that grows with what is prepared. So
    each message is prepared once: what was loaded at the first request, and then only what was added since. The
    model is called itself, not by pydantic-ai's `direct` functions, which read the whole history at each request.
    """

    def __init__(
        self,
        model: Model,
        *,
        instructions: str = "",
        max_tokens: int | None = None,
        context_window: int | None = None,
    ) -> None:
        self.model = model
        self.name = f"{model.system}:{model.model_name}" if model.system else model.model_name
        self._instructions = [InstructionPart(content=instructions)] if instructions else []
        self._settings = ModelSettings(max_tokens=max_tokens) if max_tokens is not None else None
        self._prepared: list[ModelMessage] = []
        self._seen = 0
        self._ids: set[str] = set()
        self.max_tokens = max_tokens
        self.instructions = instructions
        self._beside: dict[int, ModelPort] = {}
        self._context_window = context_window

    @property
    def context_window(self) -> int | None:
        """How many tokens the model can read and write in one request; `None` where nobody knows.

        It is what the port was made with, else what pydantic-ai knows of the model.
        """
        return self.model.context_window if self._context_window is None else self._context_window

    def beside(self, model: Model) -> ModelPort:
        """The port to another model, with the same instructions and cap: one for each model, for as long as this."""
        port = self._beside.get(id(model))
        if port is None:
            port = ModelPort(model, instructions=self.instructions, max_tokens=self.max_tokens)
            self._beside[id(model)] = port
        return port

    def stream(
        self, messages: Sequence[ModelMessage], tools: list[ToolDefinition], guidance: str | None
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """Open one streamed request.

        `messages` must be the list of the earlier requests, longer by what happened since. `guidance` is added to
        the end of the last request for this time only.
        """
        parameters = ModelRequestParameters(function_tools=tools, instruction_parts=self._instructions)
        wire = self._wire(messages, parameters)
        if guidance is not None:
            wire = with_guidance(wire, guidance)
        return self.model.request_stream(wire, self._settings, parameters)

    def forget(self) -> None:
        """Prepare the whole history again at the next request, since it was rewritten."""
        self._prepared, self._seen, self._ids = [], 0, set()

    def _wire(self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> list[ModelMessage]:
        if self._prepared and len(messages) > self._seen and messages[self._seen].kind == self._prepared[-1].kind:
            self.forget()
        if len(messages) > self._seen:
            added, _ = sanitise(messages[self._seen :], continues=self._seen > 0)
            added = [own_thoughts(message, self.model.system) for message in added]
            prepared = self.model.prepare_messages(distinct_ids(added, self._ids), parameters)
            self._prepared += map(one_prompt, prepared)
            self._seen = len(messages)
        return self._prepared


def with_guidance(messages: list[ModelMessage], guidance: str) -> list[ModelMessage]:
    """The messages with a remark for the model at the end of the last request.

    It joins the user's own words there, since strict servers refuse two user messages in a row.
    """
    last = messages[-1]
    if not isinstance(last, ModelRequest):
        return [*messages, ModelRequest(parts=[UserPromptPart(guidance)])]
    *others, final = last.parts
    if not isinstance(final, UserPromptPart):
        others, joined = [*last.parts], UserPromptPart(guidance)
    elif isinstance(final.content, str):
        joined = replace(final, content=f"{final.content}\n\n{guidance}")
    else:
        joined = replace(final, content=[*final.content, guidance])
    return [*messages[:-1], replace(last, parts=[*others, joined])]


@contextmanager
def provider_errors(model: str) -> Generator[None]:
    """Turn whatever a provider's client raises into our errors; ours pass as they are.

    Raises:
        ContextOverflow: the server refused the request as larger than the model's context window.
        ProviderError: the server refused, failed, or sent what could not be decoded.
        UsageError: pydantic-ai says that the request itself is wrong, such as a setting the model does not have.
    """
    try:
        yield
    except TurngraphError:
        raise
    except UserError as error:
        raise UsageError(f"{model}: {_clip(error.message)}") from error
    except Exception as error:
        kind = ContextOverflow if is_overflow(error) else ProviderError
        raise kind(f"the request to {model} failed: {_sentence(error)}") from error


def _sentence(error: Exception) -> str:
    if isinstance(error, ModelHTTPError):
        return _clip(f"HTTP {error.status_code}: {body_message(error.body)}")
    text = str(error) or type(error).__name__
    if error.__cause__ is not None and str(error.__cause__) not in text:
        text = f"{text} ({error.__cause__})"
    return _clip(text)


def _clip(text: str) -> str:
    """One line of at most so many characters. Some servers repeat the key they refuse, and errors are stored."""
    line = Secrets(os.environ).redact(" ".join(text.split()))
    left_out = len(line) - _LONGEST_PROVIDER_MESSAGE
    return line if left_out <= 0 else f"{line[:_LONGEST_PROVIDER_MESSAGE]} [{left_out} more characters]"
