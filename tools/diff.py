"""A unified diff made from known replacements, in time that grows with the edits and not with their square."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from .edit import Match
from .wording import count

CONTEXT = 3
LIMIT_LINES = 200
LINE_CHARACTERS = 500


@dataclass
class _Hunk:
    first: int
    last: int
    places: list[tuple[Match, str]]


def unified(name: str, text: str, places: list[Match], inserted: list[str]) -> str:
    """The diff of replacing each place of `text` by what was inserted there, at most 200 lines of it."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    if starts[-1] == len(text) and len(starts) > 1:
        starts.pop()
    lines = [f"--- a/{name}", f"+++ b/{name}"]
    shift = 0
    for hunk in _hunks(starts, places, inserted):
        body, added = _body(text, starts, hunk, shift)
        shift += added
        lines += body
    shown = [_cut(line) for line in lines[:LIMIT_LINES]]
    if len(lines) > LIMIT_LINES:
        shown.append(f"[not shown: {count(len(lines) - LIMIT_LINES, 'more line')} of the diff]")
    return "\n".join(shown)


def _hunks(starts: list[int], places: list[Match], inserted: list[str]) -> list[_Hunk]:
    """Places whose lines touch share a hunk: `first` and `last` are its lines, from 0."""
    hunks: list[_Hunk] = []
    for place, new in zip(places, inserted, strict=True):
        first = bisect_right(starts, place.start) - 1
        last = max(first, bisect_right(starts, max(place.start, place.end - 1)) - 1)
        if new and not new.endswith("\n") and place.end in starts and last + 1 < len(starts):
            last += 1
        if not new and place.end in starts and place.start not in starts and last + 1 < len(starts):
            last += 1
        if hunks and first <= hunks[-1].last + 2 * CONTEXT:
            hunks[-1].last = max(last, hunks[-1].last)
            hunks[-1].places.append((place, new))
        else:
            hunks.append(_Hunk(first, last, [(place, new)]))
    return hunks


def _body(text: str, starts: list[int], hunk: _Hunk, shift: int) -> tuple[list[str], int]:
    first, last = max(0, hunk.first - CONTEXT), min(len(starts) - 1, hunk.last + CONTEXT)

    def span(a: int, b: int) -> str:
        return text[starts[a] : starts[b + 1] if b + 1 < len(starts) else len(text)]

    pieces: list[str] = []
    position = starts[hunk.first]
    for place, new in hunk.places:
        pieces += [text[position : place.start], new]
        position = place.end
    old = _split(span(hunk.first, hunk.last))
    new = _split("".join(pieces) + text[position : starts[hunk.first] + len(span(hunk.first, hunk.last))])
    before = _split(text[starts[first] : starts[hunk.first]])
    after = _split(span(hunk.last + 1, last)) if hunk.last < last else []
    kept = len(before) + len(after)
    header = f"@@ -{first + 1},{kept + len(old)} +{first + 1 + shift},{kept + len(new)} @@"
    body = [*(f" {s}" for s in before), *(f"-{s}" for s in old), *(f"+{s}" for s in new), *(f" {s}" for s in after)]
    return [header, *body], len(new) - len(old)


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _cut(line: str) -> str:
    line = line.removesuffix("\r")
    if len(line) <= LINE_CHARACTERS:
        return line
    return f"{line[:LINE_CHARACTERS]}… [{len(line) - LINE_CHARACTERS:,} more characters]"
