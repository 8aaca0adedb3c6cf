"""Find the lines that an edit means although they do not stand in the file exactly. Never a guess.

The edit is the difference between its two texts. Only the lines that it changes are written; lines that it keeps stay
as they are in the file. It is placed where its old lines match when, from strict to loose, one ignores

1. whitespace at the ends of lines,
2. the indentation of the whole block,
3. the whitespace around each line,
4. lines that the edit keeps, provided that the first and the last line match, those next to a change too, and that
   the rest is similar.

The first of these that finds a place must find just one. A written line gets the indentation that the file has where
the old text has the new line's own; where that is not known the edit is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher

from .edit import Match

LIMIT_LINES = 500
LIMIT_FILE_LINES = 200_000
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
    lines = _Lines(text)
    edges = (before[0].strip(), before[-1].strip())
    if not any(line.strip() for line in before) or len(before) > LIMIT_LINES or len(lines.text) > LIMIT_FILE_LINES:
        return None
    starts = [
        start
        for start in range(len(lines.text) - len(before) + 1)
        if (lines.bare[start], lines.bare[start + len(before) - 1]) == edges
    ]
    changes = _changes(before, after)
    for how, fits in _WAYS:
        found = [start for start in starts if fits(before, lines.text[start : start + len(before)], changes)]
        if len(found) > 1:
            numbers = ", ".join(str(start + 1) for start in found[:20]) + (", …" if len(found) > 20 else "")
            return Unplaced(f"{how} it would stand {len(found):,} times, from lines {numbers}: copy the text exactly")
        if found and fits is _anchored and not _similar(before, lines.text[found[0] : found[0] + len(before)]):
            return None
        if found:
            return _placed(lines, found[0], how, before, changes)
    return None


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


def _ends_aside(before: list[str], there: list[str], changes: list[_Change]) -> bool:
    return all(a.rstrip() == b.rstrip() for a, b in zip(before, there, strict=True))


def _shifted(before: list[str], there: list[str], changes: list[_Change]) -> bool:
    return _bare(before, there, changes) and _shift(_indents(before, there)) is not None


def _bare(before: list[str], there: list[str], changes: list[_Change]) -> bool:
    return all(a.strip() == b.strip() for a, b in zip(before, there, strict=True))


def _anchored(before: list[str], there: list[str], changes: list[_Change]) -> bool:
    if len(before) < 3 or not before[0].strip() or not before[-1].strip():
        return False
    touched = {index for first, stop, _ in changes for index in range(max(0, first - 1), min(len(before), stop + 1))}
    return all(before[index].strip() == there[index].strip() for index in touched)


def _similar(before: list[str], there: list[str]) -> bool:
    ratios = [
        SequenceMatcher(None, a.strip()[:200], b.strip()[:200], autojunk=False).ratio()
        if a.strip() != b.strip()
        else 1.0
        for a, b in zip(before, there, strict=True)
    ]
    return sum(ratios[1:-1]) >= SIMILAR * len(ratios[1:-1])


_WAYS: tuple[tuple[str, Callable[[list[str], list[str], list[_Change]], bool]], ...] = (
    ("ignoring whitespace at the ends of lines", _ends_aside),
    ("ignoring indentation", _shifted),
    ("ignoring the whitespace around each line", _bare),
    ("by its first and last line, with similar lines between", _anchored),
)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _indents(before: list[str], there: list[str]) -> list[tuple[str, str]]:
    """The indentation of each old line beside that of the line in the file."""
    pairs = zip(before, there, strict=True)
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
    indented = _indenter(_indents(before, lines.text[start:last]))
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
