"""Why a request is not in the model cache: the nearest one that is, and where the two part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...tools.wording import count
from .file import CacheFile
from .question import SHORT, WINDOW, Question, Request


def explain(file: CacheFile, question: Question, position: int, number: int) -> str:
    """One sentence: which request was not found, what is nearest to it, what differs, and what to do.

    `position` counts the requests of this process, `number` how often this very one was made.
    """
    asked = question.request
    what = f"request {position} to {asked.model} ({count(asked.messages, 'message')}, the last {asked.last!r})"
    return (
        f"{what} is not in the model cache {file.path}: {_why(file, question, number)}; replay from a record of this "
        "very run, or let the mode 'replay' ask for what is missing"
    )


def _why(file: CacheFile, question: Question, number: int) -> str:
    if times := file.times(question.key):
        return f"it was recorded {count(times, 'time')}, and this is number {number}"
    nearest = min(file.requests(), key=lambda one: _distance(question, one), default=None)
    if nearest is None:
        return "the cache holds no record"
    differences = "; ".join(_differences(question, nearest))
    return f"the nearest record, of {count(nearest.messages, 'message')}, differs in {differences}"


def _distance(question: Question, other: Request) -> tuple[int, int, int]:
    return (
        len(list(_differences(question, other))),
        -_in_common(question, other),
        abs(question.request.messages - other.messages),
    )


def _differences(question: Question, other: Request) -> Iterator[str]:
    asked = question.request
    if asked.model != other.model:
        yield f"the model ({other.model} there, {asked.model} here)"
    yield from _of_mappings("the setting", other.settings, asked.settings, shown=True)
    yield from _of_mappings("the tool", other.tools, asked.tools, shown=False)
    if asked.tools == other.tools and list(asked.tools) != list(other.tools):
        yield "the order of the tools"
    if asked.instructions != other.instructions:
        yield "the instructions"
    if asked.output != other.output:
        yield "the form of the output"
    if asked.prefixes[-1:] != other.prefixes[-1:]:
        yield _where(question, other)


def _of_mappings(what: str, there: Mapping[str, Any], here: Mapping[str, Any], *, shown: bool) -> Iterator[str]:
    for name in sorted({*there, *here}):
        if name not in there or name not in here:
            yield f"{what} {name} (only {'there' if name in there else 'here'})"
        elif there[name] != here[name]:
            yield f"{what} {name} ({there[name]} there, {here[name]} here)" if shown else f"{what} {name}"


def _where(question: Question, other: Request) -> str:
    common, asked = _in_common(question, other), question.request
    if common >= min(asked.messages, other.messages):
        return f"its length (the first {count(common, 'message')} are the same)"
    of_its_last = f"it ends with {other.last!r}"
    if not common and other.messages > WINDOW:
        return f"the conversation ({of_its_last})"
    return f"message {common + 1} of the conversation ({of_its_last})"


def _in_common(question: Question, other: Request) -> int:
    """With how many messages both begin, as far as the record's last ones tell."""
    first = other.messages - len(other.prefixes)
    lengths = range(first + 1, other.messages + 1)
    same = [
        length
        for length, prefix in zip(lengths, other.prefixes, strict=True)
        if length <= len(question.prefixes) and question.prefixes[length - 1][:SHORT] == prefix
    ]
    return max(same, default=0)
