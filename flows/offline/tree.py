"""Requests to draw the tree of folders and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...tools.wording import count
from .phrases import IN, PLACE, SCOPE
from .plan import Listing, Plan
from .request import WORD, Request

_SEE = r"(?:show|print|draw|display|give|list|view|see|get|render)(?: me| us)?"
_TREE = (
    r"(?:(?:file|files|directory|dir|folder|project|repo|repository|source)[ -]?)?tree(?: view| structure)?|"
    r"(?:file|directory|dir|folder|project|repo|repository) (?:structure|layout|hierarchy)|"
    r"(?:tree|structure|layout|hierarchy)(?= of)"
)

TREE = (
    rf"tree(?: (?P<where>{WORD}))?",
    rf"{_SEE}(?: the| a| an| my| this)? (?:whole |full |entire |complete )?(?:{_TREE}){SCOPE}",
    rf"{_SEE}(?: the| a| an)? (?:{_TREE}) for (?P<where>{PLACE})",
    rf"{_SEE}(?: the| a)? (?:{_TREE}) (?:of|for) (?:everything|all files|the files)(?: {IN})?",
    rf"(?:the |a )?(?:{_TREE}) (?:of|for|in) (?P<where>{PLACE})",
    rf"{_SEE} (?P<where>{PLACE}) as a tree",
    rf"{_SEE}(?: all| the)? (?:everything|files)(?: {IN})? (?:as|in) a tree",
    rf"what(?:'s| is) the (?:{_TREE}){SCOPE}",
    rf"what does the (?:{_TREE}){SCOPE} look like",
    rf"how is (?P<where>{PLACE}) (?:laid out|structured|organi[sz]ed)",
    r"(?:the )?(?:project|directory|folder|file) (?:tree|structure|layout|hierarchy)",
)


def tree(request: Request, named: Mapping[str, str | None]) -> Plan | None:
    path = request.place(named.get("where"), must_exist=True)
    if path is None or request.is_file(path):
        return None
    return Plan({"pattern": "**/*", "path": path}, tell)


def tell(text: str) -> str:
    found = Listing.read(text)
    if found is None:
        return text
    folders = {name[: at + 1] for name in found.shown for at, one in enumerate(name) if one == "/"}
    head = f"[{count(found.number, 'file')} in {count(len(folders), 'folder')}; empty folders and links are not drawn]"
    return "\n".join([head, *_drawn(found.shown), *found.notes])


def _drawn(names: Sequence[str]) -> list[str]:
    """Sorted paths as an indented outline, each folder once, before what it holds."""
    lines: list[str] = []
    above: list[str] = []
    for name in sorted(names, key=lambda name: name.split("/")):
        *folders, file = name.split("/")
        common = 0
        while common < min(len(above), len(folders)) and above[common] == folders[common]:
            common += 1
        lines += [f"{'  ' * depth}{folders[depth]}/" for depth in range(common, len(folders))]
        lines.append(f"{'  ' * len(folders)}{file}")
        above = folders
    return lines
