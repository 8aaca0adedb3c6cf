"""A history as text for a model that summarises it: whole where it is short, in pieces that fit where it is not."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponsePart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from .tokens import CHARACTERS_PER_TOKEN

LONGEST_RESULT = 1_200
LONGEST_ARGUMENTS = 600
LONGEST_TEXT = 8_000
MOST_CHUNKS = 8


def chunks(messages: Sequence[ModelMessage], tokens: int) -> list[str]:
    """The history as texts of at most so many tokens each, results of tools shortened.

    At most 8 of them: of a longer history the oldest part is left out, and the first text says how many entries.
    """
    longest = max(tokens * CHARACTERS_PER_TOKEN, 200)
    texts: list[str] = []
    counts: list[int] = []
    for entry in transcript(messages):
        entry = clip(entry, longest)
        if texts and len(texts[-1]) + len(entry) + 1 <= longest:
            texts[-1] += f"\n{entry}"
            counts[-1] += 1
        else:
            texts.append(entry)
            counts.append(1)
    left_out = sum(counts[:-MOST_CHUNKS])
    texts = texts[-MOST_CHUNKS:]
    return [f"[{left_out} earlier entries left out]\n{texts[0]}", *texts[1:]] if left_out else texts


def transcript(messages: Sequence[ModelMessage]) -> list[str]:
    """One entry for each thing said, called or returned."""
    entries = (_entry(part) for message in messages for part in message.parts)
    return [entry for entry in entries if entry]


def prompt_text(part: UserPromptPart) -> str:
    """A prompt's text; what is no text in it is named in brackets."""
    if isinstance(part.content, str):
        return part.content
    return "\n".join(
        item if isinstance(item, str) else item.content if isinstance(item, TextContent) else f"[{item.kind}]"
        for item in part.content
    )


def clip(text: str, longest: int) -> str:
    """The text, or its beginning and end with what is left out between them counted."""
    if len(text) <= longest:
        return text
    said = f"\n[{len(text) - longest} characters left out]\n"
    head = max(longest - len(said), 0) * 2 // 3
    tail = max(longest - len(said), 0) - head
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[{left_out} characters left out]\n{text[len(text) - tail :]}"


def _entry(part: ModelRequestPart | ModelResponsePart) -> str:
    match part:
        case UserPromptPart():
            return f"User: {clip(prompt_text(part), LONGEST_TEXT)}"
        case TextPart(content=text):
            return f"Assistant: {clip(text, LONGEST_TEXT)}"
        case ToolCallPart():
            return f"Call of {part.tool_name}: {clip(part.args_as_json_str(), LONGEST_ARGUMENTS)}"
        case ToolReturnPart():
            how = "" if part.outcome == "success" else f" ({part.outcome})"
            result = clip(part.model_response_str(wrap_if_error=False), LONGEST_RESULT)
            return f"Result of {part.tool_name}{how}: {result}"
        case _:
            return ""
