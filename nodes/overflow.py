"""Whether a provider refused a request because it is larger than the model's context window."""

from __future__ import annotations

import re
from typing import cast

from pydantic_ai.exceptions import ModelAPIError, ModelContextWindowExceededError, ModelHTTPError

# A code says it alone. In a sentence, something that is read (an input, a prompt, a context) goes beyond a limit.
_CODE = re.compile(
    r"context_(?:length|window|size|limit)_exceeded|exceed(?:ed|s)?_context|context_overflow"
    r"|request_too_large|prompt_too_long|reduce the length of (?:the|your)"
)
_READ = (
    r"\b(?:inputs?|prompt|context|conversation|history|messages?|request(?:ed)?|sequence|query|tokens?)\b(?![.\[]\w)"
)
_BEYOND = (
    r"(?:\b(?:exceed\w*|too (?:long|large|big|many)|(?:longer|larger|greater|bigger|more) than|beyond|above"
    r"|overflow\w*|(?:does not|doesn't) fit|must (?:be|have) (?:less|fewer|at most)|maximum)\b|must be <|should be \[)"
)
_SENTENCE = re.compile(rf"{_READ}.*{_BEYOND}|{_BEYOND}.*{_READ}", re.DOTALL)
_SIZE = re.compile(
    r"\b(?:tokens?|context|(?:input|prompt|sequence|message|maximum) length|too (?:long|large)|window)\b"
)
# How much was asked of a service in some time, and how much may be answered, are other limits.
_RATE = re.compile(
    r"per[ _-]?(?:min(?:ute)?|sec(?:ond)?|hour|day|month)\b|\b[tr]p[smd]\b|rate[ _-]?limit|quota|too many requests"
    r"|please wait|try again (?:later|in)|throttl|credit|billing|overloaded|timed? ?out|concurren"
)
_ANSWER = re.compile(r"\bmax(?:imum)?_(?:completion_|output_|new_)?tokens\b|\b(?:output|completion|new) tokens\b")
_NOT_ONLY_THE_ANSWER = re.compile(r"\b(?:context|prompt|inputs?)\b")
# Some servers give the window and what of it the input took: only then can leaving messages out help.
_WINDOW = re.compile(r"maximum context length (?:is|of) ([\d,]+)")
_INPUT = re.compile(r"([\d,]+) (?:input tokens|tokens? in the messages|in the messages|of text input)")
_OTHER_STATUS = frozenset({401, 402, 403, 404, 408, 429, 529})


def is_overflow(error: BaseException) -> bool:
    """Whether an error of a provider's client says so: by its category, its status and code, or its words."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_overflow, cast(BaseExceptionGroup[BaseException], error).exceptions))
    if not isinstance(error, ModelAPIError):
        return says_overflow(str(error))
    status = error.status_code if isinstance(error, ModelHTTPError) else None
    words = body_message(error.body) if isinstance(error, ModelHTTPError) else error.message
    codes = " ".join(code for code in (error.provider_error_code, error.provider_error_type) if code)
    known = isinstance(error, ModelContextWindowExceededError) and not _answer_fills(words.lower())
    return known or says_overflow(f"{words} {codes}", status)


def says_overflow(words: str, status: int | None = None) -> bool:
    """Whether an error's words, with its HTTP status where it has one, mean a context overflow.

    A limit of requests or tokens in some time does not, and neither does a cap on the answer alone.
    """
    text = words.lower()
    if status in _OTHER_STATUS or _RATE.search(text) or _answer_fills(text):
        return False
    if status == 413 or _CODE.search(text):
        return True
    if _ANSWER.search(text) and not _NOT_ONLY_THE_ANSWER.search(text):
        return False
    return any(_SENTENCE.search(part) and _SIZE.search(part) for part in re.split(r"(?<=[.!?;])\s|\n", text))


def body_message(body: object) -> str:
    """The sentence in an error body; servers wrap it as `{"error": {"message": ...}}`, or not."""
    while isinstance(body, dict):
        fields = cast(dict[str, object], body)
        body = next((fields[key] for key in ("error", "message", "detail") if key in fields), None)
    return str(body) if body else "no message"


def _answer_fills(text: str) -> bool:
    window, read = _WINDOW.search(text), _INPUT.search(text)
    return bool(window and read) and 2 * _number(read) <= _number(window)


def _number(found: re.Match[str] | None) -> int:
    return int(found[1].replace(",", "")) if found else 0
