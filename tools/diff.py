"""A unified diff made from known replacements, in time that grows with the edits and not with their square."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from .edit import Match
from .wording import count

CONTEXT = 3
LIMIT_LINES = 200
LINE_CHARACTERS = 500


class _Lines:
    """A text by its lines, numbered from 0."""

    def __init__(self, text: str) -> None:
        self.text = text
        starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.starts = starts[:-1] if starts[-1] == len(text) and len(starts) > 1 else starts
        self.count = len(self.starts)

    def at(self, offset: int) -> int:
        return bisect_right(self.starts, offset) - 1

    def end(self, line: int) -> int:
        return self.starts[line + 1] if line + 1 < self.count else len(self.text)

    def shown(self, first: int, stop: int) -> list[str]:
        return _split(self.text[self.starts[first] : self.end(stop - 1)]) if first < stop else []


@dataclass
class _Block:
    """Lines that an edit touches, from `first` up to and with `last`, and what becomes of them up to `position`."""

    first: int
    last: int
    position: int
    pieces: list[str] = field(default_factory=list[str])


def unified(name: str, text: str, places: list[Match], inserted: list[str]) -> str:
    """The diff of replacing each place of `text` by what was inserted there, at most 200 lines of it."""
    lines = _Lines(text)
    diff = [f"--- a/{name}", f"+++ b/{name}"]
    shift = 0
    for hunk in _hunks(_blocks(lines, places, inserted)):
        body, grown = _body(lines, hunk, shift)
        diff += body
        shift += grown
    shown = [_cut(line) for line in diff[:LIMIT_LINES]]
    if len(diff) > LIMIT_LINES:
        shown.append(f"[not shown: {count(len(diff) - LIMIT_LINES, 'more line')} of the diff]")
    return "\n".join(shown)


def _blocks(lines: _Lines, places: list[Match], inserted: list[str]) -> Iterator[_Block]:
    block: _Block | None = None
    for place, new in zip(places, inserted, strict=True):
        first = lines.at(place.start)
        if block is None or first > block.last:
            if block:
                yield block
            block = _Block(first, first, lines.starts[first])
        block.pieces += [lines.text[block.position : place.start], new]
        block.position = place.end
        block.last = max(block.last, lines.at(max(place.start, place.end - 1)))
        written = next((piece for piece in reversed(block.pieces) if piece), "\n")
        if place.end == lines.end(block.last) and not written.endswith("\n") and block.last + 1 < lines.count:
            block.last += 1
    if block:
        yield block


def _hunks(blocks: Iterator[_Block]) -> Iterator[list[_Block]]:
    """Blocks whose context would touch share a hunk."""
    hunk: list[_Block] = []
    for block in blocks:
        if hunk and block.first > hunk[-1].last + 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk


def _body(lines: _Lines, hunk: list[_Block], shift: int) -> tuple[list[str], int]:
    """A hunk's lines, and by how many lines it makes the text longer."""
    first = position = max(0, hunk[0].first - CONTEXT)
    stop = min(lines.count, hunk[-1].last + 1 + CONTEXT)
    body: list[str] = []
    for block in hunk:
        rest = lines.text[block.position : lines.end(block.last)]
        body += [f" {line}" for line in lines.shown(position, block.first)]
        body += [f"-{line}" for line in lines.shown(block.first, block.last + 1)]
        body += [f"+{line}" for line in _split("".join([*block.pieces, rest]))]
        position = block.last + 1
    body += [f" {line}" for line in lines.shown(position, stop)]
    removed, added = (sum(line[0] in signs for line in body) for signs in (" -", " +"))
    return [f"@@ -{first + 1},{removed} +{first + 1 + shift},{added} @@", *body], added - removed


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _cut(line: str) -> str:
    line = line.removesuffix("\r")
    if len(line) <= LINE_CHARACTERS:
        return line
    return f"{line[:LINE_CHARACTERS]}… [{len(line) - LINE_CHARACTERS:,} more characters]"
