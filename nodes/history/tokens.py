"""About how many tokens a history is for the model it is sent to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    FilePart,
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextContent,
    UserPromptPart,
    is_multi_modal_content,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

CHARACTERS_PER_TOKEN = 4
TOKENS_OF_A_FILE = 1_500
"""What an image, a sound or a document counts, whatever its size: a large picture of most providers."""


def estimate(messages: Sequence[ModelMessage], *, instructions: str = "", tools: Sequence[ToolDefinition] = ()) -> int:
    """About how many tokens a request with these messages, instructions and tools is.

    The usage of the last reply tells what was sent until then and what was answered; what came after it is counted
    as one token for four characters, and a file as 1,500 tokens. Where that reply has no usage, everything is
    counted that way.
    """
    for after, message in enumerate(reversed(messages)):
        if isinstance(message, ModelResponse):
            if told := message.usage.input_tokens + message.usage.output_tokens:
                return told + sum(map(tokens_of, messages[len(messages) - after :]))
            break
    return overhead(instructions, tools) + sum(map(tokens_of, messages))


def overhead(instructions: str, tools: Iterable[ToolDefinition]) -> int:
    """About how many tokens are sent with each request beside its messages."""
    return tokens_of_text(instructions) + sum(map(tokens_of_tool, tools))


def tokens_of(message: ModelMessage) -> int:
    """About how many tokens one message is, by its length."""
    return sum(tokens_of_part(part) for part in message.parts)


def tokens_of_part(part: ModelRequestPart | ModelResponsePart) -> int:
    """About how many tokens one part is, by its length."""
    match part.part_kind:
        case "tool-return" | "builtin-tool-return":
            if isinstance(part.content, str):
                return tokens_of_text(part.content)
            return tokens_of_text(part.model_response_str(wrap_if_error=False)) + TOKENS_OF_A_FILE * len(part.files)
        case "tool-call" | "builtin-tool-call":
            args = part.args if isinstance(part.args, str) else json.dumps(part.args, default=str)
            return tokens_of_text(part.tool_name) + tokens_of_text(args)
        case _ if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
            return sum(map(_tokens_of_item, part.content))
        case _ if isinstance(part, FilePart):
            return TOKENS_OF_A_FILE
        case _:
            content: object = getattr(part, "content", None) or ""
            return tokens_of_text(content if isinstance(content, str) else str(content))


def tokens_of_text(text: str) -> int:
    return len(text) // CHARACTERS_PER_TOKEN


def tokens_of_tool(tool: ToolDefinition) -> int:
    """About how many tokens the description of a tool is."""
    schema = json.dumps(tool.parameters_json_schema, default=str)
    return sum(map(tokens_of_text, (tool.name, tool.description or "", schema)))


def without_last_usage(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages with the usage of their last reply forgotten: what it counted is not what will be sent."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, ModelResponse):
            return [*messages[:at], replace(message, usage=RequestUsage()), *messages[at + 1 :]]
    return list(messages)


def _tokens_of_item(item: object) -> int:
    if is_multi_modal_content(item):
        return TOKENS_OF_A_FILE
    if isinstance(item, TextContent):
        return tokens_of_text(item.content)
    return tokens_of_text(item if isinstance(item, str) else str(item))
