"""The tool update_file: replace an exact piece of a file, and nothing else in it."""

from __future__ import annotations

from collections.abc import Callable

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn

from .diff import unified
from .edit import Match, disjoint, line_of, matches, near_miss, substitute
from .page import refuse_binary, visible
from .replace import exclusive, refuse_unwritable, replace
from .workspace import Version, Workspace
from .write_file import encode

LIMIT_BYTES = 64 * 1024 * 1024
_LISTED = 20


def tool(workspace: Workspace) -> Callable[..., ToolReturn[str]]:
    """The tool, bound to a workspace."""

    def update_file(path: str, old: str, new: str, replace_all: bool = False) -> ToolReturn[str]:
        """Replace an exact piece of a text file and return the diff.

        `old` must stand in the file exactly once, character by character, unless replace_all is set; include
        enough lines around it to make it unique. Line ends follow the file: give plain newlines.

        Args:
            path: The file, relative to the workspace.
            old: The text to replace, without the line numbers of read_file.
            new: The text to put in its place; empty to delete.
            replace_all: Replace every place where `old` stands.
        """
        if not old:
            raise ToolFailed("`old` is empty; give the text to replace, or use write_file to create a file.")
        if old == new:
            raise ToolFailed("`old` and `new` are the same, so there is nothing to change; correct one of them.")
        encode(new)
        real = workspace.resolve(path)
        name = workspace.display(real)
        with exclusive(real):
            text, encoding, version = _read(workspace, path)
            refuse_unwritable(real, name)
            places = _places(text, old, name, replace_all)
            if encoding == "ascii":
                _refuse_mixed(text, places, new, name)
            edited, inserted = substitute(text, places, new)
            if edited == text:
                raise ToolFailed(f"The edit would leave {name} as it is, for line ends follow the file; check `new`.")
            if Version.of(real.stat()) != version:
                raise ToolFailed(f"{name} was changed by another program during the edit; read it and try again.")
            replace(real, name, edited.encode("utf-8", "surrogateescape"))
            workspace.saw(real)
        count = "" if len(places) == 1 else f" ({len(places):,} places)"
        diff = visible(unified(name, text, places, inserted))
        return ToolReturn(f"Edited {name}{count}.\n{diff}", metadata={"edited": [name]})

    return update_file


def _read(workspace: Workspace, path: str) -> tuple[str, str, Version]:
    real, file = workspace.open(path)
    name = workspace.display(real)
    with file:
        version = Version.of(real.stat())
        if version.size > LIMIT_BYTES:
            raise ToolFailed(f"{name} has {version.size:,} bytes, too many to edit here; use bash (sed) instead.")
        data = file.read()
    refuse_binary(data, name, len(data))
    try:
        return data.decode(), "utf-8", version
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape"), "ascii", version


def _places(text: str, old: str, name: str, replace_all: bool) -> list[Match]:
    found = matches(text, old)
    if not found:
        raise ToolFailed(f"`old` does not stand in {name}; {visible(near_miss(text, old))}.")
    if replace_all or len(found) == 1:
        return disjoint(found)
    lines = ", ".join(str(line_of(text, match.start)) for match in found[:_LISTED])
    rest = f" and {len(found) - _LISTED:,} more" if len(found) > _LISTED else ""
    raise ToolFailed(
        f"`old` stands {len(found):,} times in {name}, at lines {lines}{rest}; "
        "include more of the surrounding text to make it unique, or set replace_all."
    )


def _refuse_mixed(text: str, places: list[Match], new: str, name: str) -> None:
    """In a file of an unknown encoding only ASCII can be written, and only where no character can be torn."""
    if not new.isascii():
        raise ToolFailed(f"{name} is not UTF-8, so only ASCII text can be put into it; convert it with iconv first.")
    if any(place.start and "\udc80" <= text[place.start - 1] <= "\udcff" for place in places):
        raise ToolFailed(
            f"{name} is not UTF-8 and `old` follows a byte of an unknown character, which the edit could tear; "
            "start `old` after the next ASCII character."
        )
