"""Requests to count: files, lines, and the lines that hold a text."""

from __future__ import annotations

from collections.abc import Mapping

from ...tools.wording import count
from .languages import sort_pattern
from .phrases import PLACE, SCOPE
from .plan import Listing, Plan
from .request import WORD, Request
from .search import literal_pattern, text_of

_HOW_MANY = (
    r"(?:how many|count(?: up)?(?: all)?(?: the| of the)?(?: number of)?|(?:what(?:'s| is) |what )?(?:the )?(?:total )?"
    r"(?:number|count|amount) of(?: the)?|(?:give|show|tell)(?: me)? (?:the )?(?:number|count) of)"
)
_SORT = r"(?:(?P<sort>[\w.*+#]+) )?"
_THERE = (
    r"(?: (?:are|is) (?:there|here)| exist|(?: are| is)? (?:left|remaining)|"
    r" (?:do|does) (?:we|i|you|it) (?:have|contain)|"
    r" have (?:we|i|you)(?: got)?)?"
)
_TARGET = r"(?P<target>\S.*?)"
_HOLD = r"(?:contain|mention|include|have|hold|use|match|reference)s?"
_SHOWN = r"(?:mentioned|used|referenced|found|imported|written|named|there)"

COUNT_FILES = (
    rf"{_HOW_MANY} {_SORT}files?{_THERE}{SCOPE}",
    rf"{_HOW_MANY} {_SORT}files? (?:are|is|live|exist)(?: there)?{SCOPE}(?: there)?",
    rf"{_HOW_MANY} {_SORT}files? (?:does|do) (?P<where>{PLACE}) (?:have|contain|hold|include)",
    rf"{_HOW_MANY} {_SORT}files? (?:(?P<where>{PLACE}) (?:has|contains|holds)|has (?P<got>{PLACE}) got)",
    rf"(?:what(?:'s| is) )?(?:the )?{_SORT}file count{SCOPE}",
)

COUNT_LINES = (
    rf"{_HOW_MANY} lines?(?: of (?:code|text))?{_THERE}{SCOPE}",
    rf"{_HOW_MANY} lines? of (?P<sort>[\w.*+#]+?)(?: code)?{_THERE}{SCOPE}",
    rf"{_HOW_MANY} lines?(?: of (?:code|text))? (?:are|is|live|exist)(?: there)?{SCOPE}(?: there)?",
    rf"{_HOW_MANY} lines?(?: of (?:code|text))? (?:does|do) (?P<where>{PLACE}) (?:have|contain|hold)",
    rf"{_HOW_MANY} lines?(?: of (?:code|text))? (?:(?P<where>{PLACE}) (?:has|contains|holds)|has (?P<got>{PLACE}) got)",
    rf"how (?:long|many lines(?: long)?) is (?P<known>{PLACE})",
    rf"wc(?: -l| --lines) (?P<where>{WORD})",
    rf"(?:what(?:'s| is) )?(?:the )?(?:lines of code|line count|loc|sloc)(?: (?:in|of|for) (?P<where>{PLACE}))?",
)

COUNT_MATCHES = (
    rf"how (?:many times|often) (?:is|are|does|do|was) {_TARGET} (?:{_SHOWN}|appears?|occurs?|shows? up){SCOPE}",
    rf"{_HOW_MANY} lines?{SCOPE} (?:that )?{_HOLD} {_TARGET}",
    rf"{_HOW_MANY} lines? (?:that )?{_HOLD} {_TARGET}{SCOPE}",
    rf"{_HOW_MANY} (?:occurrences?|mentions?|uses?|usages?|references?|instances?|appearances?|matches) (?:of|to|for) "
    rf"{_TARGET}{_THERE}{SCOPE}",
    rf"(?P<vague>{_HOW_MANY}) {_TARGET}(?: (?:are|is)(?: there| left| remaining)?)?{SCOPE}",
)

_BARE_LINE_NOUNS = frozenset({"code", "text"})


def count_files(request: Request, named: Mapping[str, str | None]) -> Plan | None:
    path, sort = request.place(named.get("where") or named.get("got"), must_exist=True), named.get("sort")
    pattern = sort_pattern(request, sort) if sort else "**/*"
    if path is None or pattern is None or request.is_file(path):
        return None
    fit = f" fit {pattern}" if sort else ""

    def tell(text: str) -> str:
        found = Listing.read(text)
        if found is None:
            return text
        head = f"{count(found.number, 'file')}{fit} in {_where(path)} and the folders below it."
        return "\n".join([head, *found.lasting_notes])

    return Plan({"pattern": pattern, "path": path}, tell)


def count_lines(request: Request, named: Mapping[str, str | None]) -> Plan | None:
    known = named.get("known")
    path, sort = request.place(known or named.get("got") or named.get("where"), must_exist=True), named.get("sort")
    if path is None or (known is not None and not request.is_file(path)):
        return None
    arguments = {"pattern": "^", "path": path}
    if sort and sort.lower() not in _BARE_LINE_NOUNS:
        pattern = sort_pattern(request, sort)
        if pattern is None or request.is_file(path):
            return None
        arguments["glob"] = pattern
    return Plan(arguments, lambda text: _tell_lines(text, path, arguments.get("glob")))


def _tell_lines(text: str, path: str, pattern: str | None) -> str:
    found = Listing.read(text, limit=100)
    if found is None:
        return text
    if found.fitting == 1 and pattern is None and found.files == 1 and path != ".":
        head = f"{count(found.number, 'line')} in {path}, blank ones and comments too."
        return "\n".join([head, *found.lasting_notes])
    fit = f" that fit {pattern}" if pattern else ""
    files = f"{count(found.files, 'file')}{fit} in {_where(path)}"
    head = f"{count(found.number, 'line')}, blank ones and comments too, in {files}."
    rest = found.fitting - found.files
    empty = [f"[not counted: {count(rest, 'file')} without a line or not text]"] if rest else []
    return "\n".join([head, *empty, *found.lasting_notes])


def count_matches(request: Request, named: Mapping[str, str | None]) -> Plan | None:
    path = request.place(named.get("where"), must_exist=True)
    text = text_of(request, named["target"] or "", vague=named.get("vague") is not None)
    if path is None or text is None:
        return None

    def tell(result: str) -> str:
        found = Listing.read(result, limit=100)
        if found is None:
            return result
        head = (
            f"{count(found.number, 'line')} with {text!r}, in {found.files:,} of {count(found.fitting, 'file')} in "
            f"{_where(path)}; a line that repeats it counts once."
        )
        return "\n".join([head, *found.shown, *_unlisted(found), *found.lasting_notes])

    return Plan({"pattern": literal_pattern(text), "path": path}, tell)


def _where(path: str) -> str:
    return "the working directory" if path == "." else path


def _unlisted(found: Listing) -> list[str]:
    more = found.number - len(found.shown)
    return [f"[not shown: {count(more, 'more line')}]"] if more else []
