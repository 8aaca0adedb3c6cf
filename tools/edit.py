"""Exact replacement in a text, keeping every line end that is not edited. Pure functions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

HINT_LINES = 5_000
HINT_CHARACTERS = 60
MOST_PLACES = 100_000
_LINE_END = re.compile(r"\r?\n")
_NUMBERED = re.compile(r"^\s*\d+→", re.MULTILINE)


@dataclass(frozen=True)
class Match:
    """A place of the text, as character offsets."""

    start: int
    end: int


def matches(text: str, old: str) -> list[Match]:
    """The places where `old` stands, overlapping ones too; a bare newline in `old` also fits a CRLF.

    More than `MOST_PLACES` are not looked for: one more than that then stands for all.
    """
    pattern = _pattern(old)
    found: list[Match] = []
    position = 0
    while len(found) <= MOST_PLACES and (match := pattern.search(text, position)):
        found.append(Match(match.start(), match.end()))
        position = match.start() + 1
    return found


def disjoint(found: list[Match]) -> list[Match]:
    """The matches that can all be replaced: each begins where the one before has ended."""
    kept: list[Match] = []
    for match in found:
        if not kept or match.start >= kept[-1].end:
            kept.append(match)
    return kept


def substitute(text: str, places: list[Match], new: Sequence[str]) -> tuple[str, list[str]]:
    """The text with each place replaced by its new text, and what stands at each place now.

    A bare newline in a new text takes the line end of the line it replaces; everything else is written as given.
    """
    inserted = [_fitted(text, place, one) for place, one in zip(places, new, strict=True)]
    pieces: list[str] = []
    position = 0
    for place, replacement in zip(places, inserted, strict=True):
        pieces += [text[position : place.start], replacement]
        position = place.end
    return "".join([*pieces, text[position:]]), inserted


def line_of(text: str, offset: int) -> int:
    """The number, from 1, of the line that holds a character."""
    return text.count("\n", 0, offset) + 1


def near_miss(text: str, old: str) -> str:
    """Why `old` may not have matched, as a sentence that helps to correct it."""
    if _NUMBERED.search(old):
        return "leave out the line numbers and arrows that read_file puts before each line"
    lines = text.splitlines()
    wanted = [" ".join(line.split()) for line in old.strip().splitlines()]
    if len(lines) > HINT_LINES:
        return f"read the lines again (the file has {len(lines):,} lines, too many to look for a similar one)"
    loose = [" ".join(line.split()) for line in lines]
    for index in range(len(loose) - len(wanted) + 1):
        if wanted and loose[index : index + len(wanted)] == wanted:
            where = f"line {index + 1}" if len(wanted) == 1 else f"lines {index + 1}-{index + len(wanted)}"
            return f"{where} would match if whitespace were ignored: copy the whitespace exactly"
    first = next((line for line in wanted if line), "")[:HINT_CHARACTERS]
    starts = [line[:HINT_CHARACTERS] for line in loose]
    if close := difflib.get_close_matches(first, list(dict.fromkeys(starts)), n=1, cutoff=0.6):
        index = starts.index(close[0])
        return f"the most similar line is line {index + 1}: {lines[index][:200]!r}"
    return "no line is similar: read the file again"


def _pattern(old: str) -> re.Pattern[str]:
    pieces = re.split(r"(\r?\n)", old)
    bare = r"(?:\r\n|(?<!\r)\n)"
    return re.compile("".join(bare if piece == "\n" else re.escape(piece) for piece in pieces))


def _fitted(text: str, place: Match, new: str) -> str:
    replaced = _LINE_END.findall(text, place.start, place.end)
    following = _LINE_END.search(text, place.end)
    default = replaced[-1] if replaced else following[0] if following else _last_ending(text, place.start)
    endings = iter(replaced)
    return _LINE_END.sub(lambda m: m[0] if m[0] == "\r\n" else next(endings, default), new)


def _last_ending(text: str, before: int) -> str:
    index = text.rfind("\n", 0, before)
    return "\r\n" if index > 0 and text[index - 1] == "\r" else "\n"
