"""Requests to show a file, or some lines of it."""

from __future__ import annotations

from collections.abc import Mapping

from ...tools.read_file import PAGE_LINES
from .plan import Plan
from .request import WORD, Request

_VERB = (
    r"(?:show|cat|open|read|print|display|view|see|type|dump|less|more|give|(?:(?:take|have) a )?look (?:at|into))"
    r"(?: me| us)?"
)
_ABOUT = r"(?:(?:the )?file )?(?:the |my |our )?"
_FILE = rf"{_ABOUT}(?P<file>{WORD}?)(?: file)?"
_KNOWN = rf"{_ABOUT}(?P<known>{WORD}?)(?: file)?"
_LINES = (
    r"(?:the )?(?:lines? (?P<first>\d+)(?: ?(?:-|–|to|through|until|till|and|\.\.) ?(?:line )?(?P<last>\d+))?|"
    r"first (?P<count>\d+) lines?)"
)

SHOW = (
    rf"{_VERB} (?P<file>{WORD}?):(?P<first>\d+)(?:-(?P<last>\d+))?",
    rf"{_VERB} {_FILE}(?: from)? lines? (?P<first>\d+) (?P<onward>on|onwards?|to (?:the )?end)",
    rf"{_VERB} {_FILE} (?P<onward>(?:starting |beginning )?(?:from|at|with)) line (?P<first>\d+)",
    rf"{_VERB} {_FILE},?(?: from| on)? {_LINES}",
    rf"{_KNOWN},? {_LINES}",
    rf"(?P<head>head)(?: -(?:n ?)?(?P<count>\d+))? {_FILE}",
    rf"{_VERB} {_LINES} (?:of|in|from) {_FILE}",
    rf"what(?:'s| is| are| do| does)?(?: on| at| in)? {_LINES} (?:of|in|from) {_FILE}(?: say| contain| hold)?",
    rf"{_VERB}(?: the)?(?: (?:whole |full |entire )?(?:contents?|text|source|code) of)? {_FILE}",
    rf"what(?:'s| is| are)(?: the contents?)?(?: inside| in| of)? {_KNOWN}",
    rf"what does {_KNOWN} (?:say|contain|hold|look like)",
    rf"(?:the )?contents? of {_FILE}",
    rf"(?P<known>{WORD})",
)


def show_file(request: Request, named: Mapping[str, str | None]) -> Plan | None:
    known = named.get("known")
    path = request.file(known or named.get("file") or "", must_exist=known is not None)
    if path is None:
        return None
    first, last, count = (int(value) if (value := named.get(key)) else None for key in ("first", "last", "count"))
    if count is not None or named.get("head"):
        first, last = 1, count or 10
    if first is None:
        return Plan({"path": path})
    if named.get("onward"):
        return Plan({"path": path, "offset": first})
    last = first if last is None else last
    if not 1 <= first <= last:
        return None
    # A page holds no more; what follows it, the tool says.
    return Plan({"path": path, "offset": first, "limit": min(last - first + 1, PAGE_LINES)})
