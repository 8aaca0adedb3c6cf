"""The tool update_file: replace a piece of a file, and nothing else in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn

from .diff import unified
from .edit import MOST_PLACES, Match, disjoint, line_of, matches, near_miss, substitute
from .encoding import Encoding, decode
from .loose import Unplaced, place
from .page import visible
from .replace import Stamp, exclusive, refuse_unwritable, replace
from .version import HASHED_BYTES, Version
from .workspace import Workspace
from .write_file import encode

LIMIT_BYTES = HASHED_BYTES
_LISTED = 20


@dataclass(frozen=True)
class Edit:
    """An edit that can be made: what the file would hold, and what to say about it."""

    real: Path
    name: str
    stamp: Stamp
    content: bytes
    how: str
    diff: str


def tool(workspace: Workspace) -> Callable[..., ToolReturn[str]]:
    """The tool, bound to a workspace."""

    def update_file(path: str, old: str, new: str, replace_all: bool = False) -> ToolReturn[str]:
        """Replace a piece of a text file and return the diff.

        `old` must stand in the file exactly once, character by character, unless replace_all is set; include
        enough lines around it to make it unique. If it does not stand there exactly, whole lines that differ only in
        whitespace, or in lines that `new` keeps, are edited if just one place fits, and the result says so. Line ends
        and encoding follow the file: give plain newlines.

        Args:
            path: The file, relative to the workspace.
            old: The text to replace, without the line numbers of read_file.
            new: The text to put in its place; empty to delete.
            replace_all: Replace every place where `old` stands exactly.
        """
        real = workspace.writable(path)
        with exclusive(real):
            edit = plan(workspace, path, old, new, replace_all)
            note = replace(real, edit.name, edit.content, edit.stamp)
            if workspace.seen(real):
                workspace.saw(real, Version.of_bytes(edit.content))
        return ToolReturn(f"Edited {edit.name}{edit.how}.{note}\n{edit.diff}", metadata={"edited": [edit.name]})

    return update_file


def plan(workspace: Workspace, path: str, old: str, new: str, replace_all: bool = False) -> Edit:
    """What an edit would make of a file as it is now, without writing it.

    Raises:
        ToolFailed: the edit would be refused.
    """
    if not old:
        raise ToolFailed("`old` is empty; give the text to replace, or use write_file to create a file.")
    if old == new:
        raise ToolFailed("`old` and `new` are the same, so there is nothing to change; correct one of them.")
    encode(new)
    real = workspace.writable(path)
    name = workspace.display(real)
    text, encoding, stamp = _read(workspace, path)
    refuse_unwritable(real, name)
    places, texts, how = _places(text, old, new, name, replace_all)
    if not encoding.known:
        _refuse_mixed(text, places, texts, name)
    edited, inserted = substitute(text, places, texts)
    if edited == text:
        raise ToolFailed(f"The edit would leave {name} as it is, for line ends follow the file; check `new`.")
    diff = visible(unified(name, text, places, inserted))
    return Edit(real, name, stamp, encoding.encode(edited), how, diff)


def _read(workspace: Workspace, path: str) -> tuple[str, Encoding, Stamp]:
    real, file = workspace.open(path)
    name = workspace.display(real)
    with file:
        status = os.fstat(file.fileno())
        if status.st_size > LIMIT_BYTES:
            raise ToolFailed(f"{name} has {status.st_size:,} bytes, too many to edit here; use bash (sed) instead.")
        data = file.read(LIMIT_BYTES)
    if workspace.seen(real) not in (None, Version.of_bytes(data)):
        raise ToolFailed(f"{name} has changed since it was last read; read it again before editing it.")
    return *decode(data, name), Stamp.of(status)


def _places(text: str, old: str, new: str, name: str, replace_all: bool) -> tuple[list[Match], list[str], str]:
    """Where to write what, and how that was found where it was not plainly found."""
    found = matches(text, old)
    if len(found) > MOST_PLACES:
        raise ToolFailed(f"`old` stands more than {MOST_PLACES:,} times in {name}; give more text, or use bash (sed).")
    if len(found) == 1 or (found and replace_all):
        apart = disjoint(found)
        return apart, [new] * len(apart), "" if len(apart) == 1 else f" ({len(apart):,} places)"
    if found:
        lines = ", ".join(str(line_of(text, match.start)) for match in found[:_LISTED])
        rest = f" and {len(found) - _LISTED:,} more" if len(found) > _LISTED else ""
        raise ToolFailed(
            f"`old` stands {len(found):,} times in {name}, at lines {lines}{rest}; "
            "include more of the surrounding text to make it unique, or set replace_all."
        )
    placed = None if replace_all else place(text, old, new)
    if placed is None:
        raise ToolFailed(f"`old` does not stand in {name}; {visible(near_miss(text, old))}.")
    if isinstance(placed, Unplaced):
        raise ToolFailed(f"`old` does not stand in {name} exactly; {visible(placed.why)}.")
    where = f"line {placed.first}" if placed.first == placed.last else f"lines {placed.first}-{placed.last}"
    return placed.places, placed.texts, f", matched {placed.how}: {where}"


def _refuse_mixed(text: str, places: list[Match], texts: list[str], name: str) -> None:
    """In a file of an unknown encoding only ASCII can be written, and only where no character can be torn."""
    if not all(new.isascii() for new in texts):
        raise ToolFailed(f"{name} is not UTF-8, so only ASCII text can be put into it; convert it with iconv first.")
    if any(place.start and "\udc80" <= text[place.start - 1] <= "\udcff" for place in places):
        raise ToolFailed(
            f"{name} is not UTF-8 and `old` follows a byte of an unknown character, which the edit could tear; "
            "start `old` after the next ASCII character."
        )
