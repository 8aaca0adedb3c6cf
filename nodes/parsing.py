"""Tool calls written as text, by models or servers that have no structured calls.

The formats are tried in order; the first that yields a call of an offered tool wins. What is no complete call, or
names no offered tool, or has no object of arguments, stays text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple, cast


class TextCall(NamedTuple):
    """A call found at `text[start:end]`."""

    start: int
    end: int
    name: str
    args: dict[str, Any]


_DECODER = json.JSONDecoder()
_NAME_KEYS = ("name", "tool", "function")
_ARGUMENT_KEYS = ("arguments", "args", "parameters")
_TOOL_CALL = re.compile(r"<tool_call>\s*(?=\{)")
_TOOL_CALL_END = re.compile(r"\s*</tool_call>")
_FUNCTION = re.compile(r"(?:<tool_call>\s*)?<function=([\w.-]+)>\s*")
_FUNCTION_END = re.compile(r"\s*</function>(?:\s*</tool_call>)?")
_PARAMETER = re.compile(r"\s*<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_NAMED = re.compile(
    r"\[TOOL_CALLS\]\s*([\w.-]+)\s*\[ARGS\]\s*(?=\{)"  # Mistral
    r"|(?:<｜tool▁calls▁begin｜>)?\s*<｜tool▁call▁begin｜>\w+<｜tool▁sep｜>([\w.-]+)\s*```json\s*(?=\{)"  # DeepSeek
)
_NAMED_END = re.compile(r"(?:\s*```\s*<｜tool▁call▁end｜>(?:\s*<｜tool▁calls▁end｜>)?)?")
_MARKED = re.compile(r"(?:\[TOOL_CALLS\]|<\|python_tag\|>|\bfunctools)\s*(?=[\[{])")  # Mistral, Llama, Phi
_NOTHING = re.compile("")
_FENCE = re.compile(r"```(?:json|tool_call|tool)?[ \t]*\n")
_FENCE_END = re.compile(r"\s*```")
_LINE_OF_JSON = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)


def parse_calls(text: str, offered: Collection[str]) -> tuple[list[TextCall], str]:
    """The calls in a text, and the text that is left without them.

    Without a call the text comes back unchanged.
    """
    for find in _FORMATS:
        calls = [call for call in find(text) if call.name in offered]
        if calls:
            return calls, _without(text, calls)
    return [], text


def may_hold_calls(text: str, offered: Collection[str]) -> bool:
    """A cheap test that no text with a call fails."""
    marked = "{" in text or "<function=" in text
    return marked and ("\\u" in text or any(name in text for name in offered))


def _tool_call_tags(text: str) -> Iterator[TextCall]:
    yield from _enclosed_json(text, _TOOL_CALL, _TOOL_CALL_END)


def _function_tags(text: str) -> Iterator[TextCall]:
    for opening in _FUNCTION.finditer(text):
        name, position = opening[1], opening.end()
        args, position = _arguments_at(text, position)
        if closing := _FUNCTION_END.match(text, position):
            yield TextCall(opening.start(), closing.end(), name, args)


def _named_by_tokens(text: str) -> Iterator[TextCall]:
    for opening in _NAMED.finditer(text):
        args, position = _json_at(text, opening.end())
        closing = _NAMED_END.match(text, position)
        if isinstance(args, dict) and closing is not None:
            yield TextCall(opening.start(), closing.end(), opening[1] or opening[2], cast(dict[str, Any], args))


def _marked_json(text: str) -> Iterator[TextCall]:
    yield from _enclosed_json(text, _MARKED, _NOTHING)


def _json_fences(text: str) -> Iterator[TextCall]:
    yield from _enclosed_json(text, _FENCE, _FENCE_END)


def _raw_json(text: str) -> Iterator[TextCall]:
    done = 0
    for opening in _LINE_OF_JSON.finditer(text):
        if opening.end() < done:
            continue
        value, done = _json_at(text, opening.end())
        yield from _calls_of(value, opening.start(), done)


_FORMATS: tuple[Callable[[str], Iterator[TextCall]], ...] = (
    _tool_call_tags,
    _function_tags,
    _named_by_tokens,
    _marked_json,
    _json_fences,
    _raw_json,
)


def _enclosed_json(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> Iterator[TextCall]:
    for start in opening.finditer(text):
        value, position = _json_at(text, start.end())
        end = closing.match(text, position)
        if end is not None:
            yield from _calls_of(value, start.start(), end.end())


def _arguments_at(text: str, position: int) -> tuple[dict[str, Any], int]:
    """Arguments as one JSON object or as a row of `<parameter=name>` tags, which may be none."""
    value, end = _json_at(text, position)
    if isinstance(value, dict):
        return cast(dict[str, Any], value), end
    args: dict[str, Any] = {}
    while parameter := _PARAMETER.match(text, position):
        args[parameter[1]] = parameter[2]
        position = parameter.end()
    return args, position


def _json_at(text: str, position: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None, position


def _calls_of(value: Any, start: int, end: int) -> Iterator[TextCall]:
    """The calls of one JSON value: an object, or a list of objects that share the place."""
    items = cast(list[Any], value) if isinstance(value, list) else [value]
    for item in items:
        if isinstance(item, dict):
            fields = cast(dict[str, Any], item)
            if isinstance(fields.get("function"), dict):
                fields = cast(dict[str, Any], fields["function"])
            name = next((fields[key] for key in _NAME_KEYS if key in fields), None)
            args = next((fields[key] for key in _ARGUMENT_KEYS if key in fields), None)
            if isinstance(name, str) and isinstance(args, dict):
                yield TextCall(start, end, name, cast(dict[str, Any], args))


def _without(text: str, calls: list[TextCall]) -> str:
    kept: list[str] = []
    position = 0
    for call in calls:
        if call.start >= position:
            kept.append(text[position : call.start])
            position = call.end
    return "".join([*kept, text[position:]]).strip()
