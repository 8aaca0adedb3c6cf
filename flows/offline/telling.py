"""From the results of a turn's calls to the answer a person reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)

from ...nodes.history.stamp import unstamp
from ...nodes.parsing import parse_calls
from .plan import as_it_is
from .request import Request
from .rules import route


def open_ends(parts: Sequence[ModelRequestPart]) -> tuple[list[ToolReturnPart], str]:
    """The results that wait for an answer, or else what the person asked.

    What follows the results is guidance, except a stamped text: that is a new request after a turn that broke off.
    """
    results: list[ToolReturnPart] = []
    asked = ""
    for part in parts:
        if isinstance(part, ToolReturnPart):
            results.append(part)
        elif isinstance(part, UserPromptPart):
            content = [part.content] if isinstance(part.content, str) else part.content
            said = " ".join(piece for piece in content if isinstance(piece, str))
            asked = unstamp(said)
            if asked != said:
                results = []
    return results, asked


def answer(
    results: Sequence[ToolReturnPart], messages: Sequence[ModelMessage], offered: Collection[str], root: Path
) -> str:
    """What the results of calls in `messages` come to; nothing in it reads like a call of an offered tool."""
    told = (_shown(result, _telling(result, messages, root)) for result in results)
    return _harmless("\n\n".join(told), offered)


def _telling(result: ToolReturnPart, messages: Sequence[ModelMessage], root: Path) -> Callable[[str], str]:
    """How the rule that made a call tells its result; a call that no rule of now would make is told as it is."""
    earlier = iter(reversed(messages))
    calls = (call for message in earlier if isinstance(message, ModelResponse) for call in message.tool_calls)
    call = next((call for call in calls if call.tool_call_id == result.tool_call_id), None)
    asked = (open_ends(message.parts)[1] for message in earlier if isinstance(message, ModelRequest))
    routed = route(Request.read(next(filter(None, asked), ""), root))
    if call is None or routed is None:
        return as_it_is
    rule, plan = routed
    return plan.tell if (rule.tool, plan.arguments) == (call.tool_name, call.args_as_dict()) else as_it_is


_FOR_A_MODEL = re.compile(r"^(\[left out by \.gitignore: [^;\n]+); include_ignored=true adds them\]$", re.MULTILINE)


def _shown(result: ToolReturnPart, tell: Callable[[str], str]) -> str:
    text = result.content if isinstance(result.content, str) else result.model_response_str()
    if result.outcome == "denied":
        return f"{result.tool_name} was not allowed to run: {text}"
    if result.outcome != "success":
        return f"{result.tool_name} failed: {text}"
    return _FOR_A_MODEL.sub(r"\1]", tell(text)) or f"{result.tool_name} gave an empty result."


def _harmless(text: str, offered: Collection[str]) -> str:
    """The text with every passage broken that reads like a tool call: what a file says must never be run."""
    broken = 0
    while calls := parse_calls(text, offered)[0]:
        for call in sorted(calls, reverse=True):
            text = f"{text[: call.start + 1]}·{text[call.start + 1 :]}"
            broken += 1
    if broken:
        text += f"\n[{broken} passages above read like tool calls; a · was put into each so that none is run]"
    return text
