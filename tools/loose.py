"""Find the lines that an edit means although they do not stand in the file exactly. Never a guess.

The edit is the difference between its two texts. Only the lines that it changes are written; lines that it keeps stay
as they are in the file. It is placed where its old lines match when, from strict to loose, one ignores

1. whitespace at the ends of lines,
2. the indentation of the whole block,
3. the whitespace around each line,
4. lines that the edit keeps, provided that the first and the last line match, those next to a change too, and that
   the rest is similar.

The first of these that finds a place must find just one. A written line gets the indentation that the file has where
the old text has the new line's own; where that is not known the edit is refused. Texts beyond the limits below are not
searched so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from .edit import Match

LIMIT_LINES = 500
LIMIT_NEW_LINES = 2_000
LIMIT_FILE_LINES = 50_000
LIMIT_PLACES = 1_000
SIMILAR = 0.6

_Change = tuple[int, int, list[str]]


@dataclass(frozen=True)
class Placed:
    """Where an edit belongs and what to write there; `first` and `last` are line numbers from 1."""

    how: str
    first: int
    last: int
    places: list[Match]
    texts: list[str]


@dataclass(frozen=True)
class Unplaced:
    """Why an edit that nearly matches is not made, as the end of a sentence."""

    why: str


def place(text: str, old: str, new: str) -> Placed | Unplaced | None:
    """The one place for an edit, or why there is none; nothing where nothing resembles it."""
    if old.endswith("\n") and (not new or new.endswith("\n")):
        before, after = old[:-1].split("\n"), new[:-1].split("\n") if new else []
    elif not old.endswith("\n"):
        before, after = old.split("\n"), new.split("\n")
    else:
        return None
    before, after = ([line.removesuffix("\r") for line in lines] for lines in (before, after))
    too_long = len(before) > LIMIT_LINES or len(after) > LIMIT_NEW_LINES or text.count("\n") > LIMIT_FILE_LINES
    if too_long or not any(line.strip() for line in before):
        return None
    lines = _Lines(text)
    changes = _changes(before, after)
    for how, found in _ways(lines, before, changes):
        if len(found) > 1:
            numbers = ", ".join(str(start + 1) for start in found[:20]) + (", …" if len(found) > 20 else "")
            return Unplaced(f"{how} it would stand {len(found):,} times, from lines {numbers}: copy the text exactly")
        if found:
            return _placed(lines, found[0], how, before, changes)
    return None


def _ways(lines: _Lines, before: list[str], changes: list[_Change]) -> Iterator[tuple[str, list[int]]]:
    """From strict to loose, how the old lines can match and the lines, from 0, at which they do."""
    bare, size = [line.strip() for line in before], len(before)
    starts = [
        start
        for start in range(len(lines.text) - size + 1)
        if lines.bare[start] == bare[0] and lines.bare[start + size - 1] == bare[-1]
    ]
    alike = [start for start in starts if lines.bare[start : start + size] == bare]
    if len(alike) <= LIMIT_PLACES:
        pairs = {start: list(zip(before, lines.text[start : start + size], strict=True)) for start in alike}
        ends = [start for start in alike if all(a.rstrip() == b.rstrip() for a, b in pairs[start])]
        yield "ignoring whitespace at the ends of lines", ends
        yield "ignoring indentation", [start for start in alike if _shift(_indents(pairs[start])) is not None]
    yield "ignoring the whitespace around each line", alike
    if size < 3 or not bare[0] or not bare[-1]:
        return
    touched = {index for first, stop, _ in changes for index in range(max(0, first - 1), min(size, stop + 1))}
    anchored = [start for start in starts if all(bare[index] == lines.bare[start + index] for index in touched)]
    if len(anchored) != 1 or _similar(bare, lines.bare[anchored[0] : anchored[0] + size]):
        yield "by its first and last line, with similar lines between", anchored


class _Lines:
    """A text by its lines, without their ends."""

    def __init__(self, text: str) -> None:
        whole = text.split("\n")
        self.starts = [0]
        for line in whole:
            self.starts.append(self.starts[-1] + len(line) + 1)
        if whole[-1] == "":
            whole.pop()
        self.size = len(text)
        self.text = [line.removesuffix("\r") for line in whole]
        self.bare = [line.strip() for line in self.text]

    def end(self, line: int) -> int:
        return self.starts[line] + len(self.text[line])

    def following(self, line: int) -> int:
        """Where the next line begins, or the text ends."""
        return min(self.starts[line + 1], self.size)


def _changes(before: list[str], after: list[str]) -> list[_Change]:
    """Which old lines become which new ones."""
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(first, stop, after[i:j]) for tag, first, stop, i, j in codes if tag != "equal"]


def _similar(ours: list[str], theirs: list[str]) -> bool:
    """Whether the lines between the first and the last are similar on average."""
    ratios = [
        1.0 if a == b else SequenceMatcher(None, a[:200], b[:200], autojunk=False).ratio()
        for a, b in zip(ours[1:-1], theirs[1:-1], strict=True)
    ]
    return sum(ratios) >= SIMILAR * len(ratios)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _indents(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The indentation of each old line beside that of the line in the file."""
    return [(_indent(a), _indent(b)) for a, b in pairs if a.strip() and a.strip() == b.strip()]


def _shift(indents: list[tuple[str, str]]) -> tuple[str, str] | None:
    """The start of every old indentation and what stands for it in the file, if it is the same for all."""
    ours, theirs = indents[0]
    for removed, added in (("", theirs.removesuffix(ours)), (ours.removesuffix(theirs), "")):
        if all(a.startswith(removed) and added + a.removeprefix(removed) == b for a, b in indents):
            return removed, added
    return None


def _indenter(indents: list[tuple[str, str]]) -> Callable[[str], str | None]:
    """Gives a new line the file's indentation; nothing where it cannot be told."""
    shift = _shift(indents)
    known: dict[str, set[str]] = {}
    for ours, theirs in indents:
        known.setdefault(ours, set()).add(theirs)

    def indented(line: str) -> str | None:
        indent = _indent(line)
        if not line.strip():
            return line
        if shift:
            return shift[1] + line.removeprefix(shift[0]) if indent.startswith(shift[0]) else None
        there = known.get(indent, set())
        return there.copy().pop() + line.lstrip() if len(there) == 1 else None

    return indented


def _placed(lines: _Lines, start: int, how: str, before: list[str], changes: list[_Change]) -> Placed | Unplaced:
    first, last = start + 1, start + len(before)
    where = f"line {first}" if first == last else f"lines {first}-{last}"
    indented = _indenter(_indents(list(zip(before, lines.text[start:last], strict=True))))
    places: list[Match] = []
    texts: list[str] = []
    for begin, stop, new in changes:
        fitted = [indented(line) for line in new]
        if None in fitted:
            line = new[fitted.index(None)].strip()[:80]
            unclear = f"how far to indent {line!r} there cannot be told: copy the text exactly"
            return Unplaced(f"{how} it would be {where}, but {unclear}")
        place, text = _written(lines, start + begin, start + stop, [line for line in fitted if line is not None], begin)
        places.append(place)
        texts.append(text)
    return Placed(how, first, last, places, texts)


def _written(lines: _Lines, begin: int, stop: int, new: list[str], inside: int) -> tuple[Match, str]:
    """The characters that become the new lines, and those lines with the line ends they need there."""
    if begin < stop and new:
        return Match(lines.starts[begin], lines.end(stop - 1)), "\n".join(new)
    if begin < stop:
        return Match(lines.starts[begin], lines.following(stop - 1)), ""
    if inside:
        return Match(lines.end(begin - 1), lines.end(begin - 1)), "".join(f"\n{line}" for line in new)
    return Match(lines.starts[begin], lines.starts[begin]), "".join(f"{line}\n" for line in new)
