"""Requests for the largest files, and for those that changed last."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from ...tools.wording import count
from .languages import sort_pattern
from .phrases import SCOPE
from .plan import LARGEST_LISTING, Listing, Plan
from .request import Request

_USUAL = 10
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"(?P<count>\d+|{'|'.join(_NUMBERS[1:])})"
_SEE = (
    r"(?:(?:show|list|find|print|display|give|see|get|tell|sort)(?: me| us)? )?(?:(?:a|the) list of )?"
    r"(?:what are |which are |what(?:'s| is) )?"
)
_SORT = r"(?:(?P<sort>[\w.*+#]+) )?"
_FILES = rf"{_SORT}(?:(?P<one>file)|files)"
_BIG = r"(?:largest|biggest|big|large|huge|heaviest)"
_AGE = r"(?:(?:most )?recently|last|lately|latest|just)"
_CHANGED = r"(?:changed|modified|edited|touched|updated)"
_HAS = r"(?:(?: has| have| was| were|'s| did| i| we)?(?: been| i| we)? )"
_PERIOD = (
    r"(?:(?P<today>today)|(?P<yesterday>since yesterday)|(?:in|within|during|over)(?: the)? (?:last|past) "
    r"(?:(?P<amount>[1-9]\d*) )?(?P<unit>minute|hour|day|week)s?)"
)
_WHEN = rf"(?:{_AGE}|{_PERIOD})"

LARGEST = (
    rf"{_SEE}(?:the |all )?(?:top )?(?:{_NUMBER} )?{_BIG} {_FILES}{SCOPE}",
    rf"{_SEE}(?:the )?{_BIG} {_NUMBER} {_FILES}{SCOPE}",
    rf"{_SEE}(?:the )?top {_NUMBER} {_FILES}{SCOPE} by size",
    rf"{_SEE}(?:the )?top {_NUMBER} {_FILES} by size{SCOPE}",
    rf"{_SEE}(?:the |all )?{_SORT}files{SCOPE} (?:(?:sorted|ordered|ranked|listed) )?by (?:their )?size",
    rf"{_SEE}(?:the |all )?{_SORT}files (?:(?:sorted|ordered|ranked|listed) )?by (?:their )?size{SCOPE}",
    rf"(?:which|what)(?: {_FILES})?(?: is| are)(?: the)? (?:largest|biggest|heaviest){SCOPE}",
    rf"(?:which|what)(?: {_FILES}{SCOPE})? (?:takes?(?: up)?|uses?)(?: up)? the most (?:disk )?space",
    rf"(?:which|what)(?: {_FILES})? (?:takes?(?: up)?|uses?)(?: up)? the most (?:disk )?space{SCOPE}",
)

LATELY = (
    rf"{_SEE}(?:what|(?:has )?anything|(?:which|what|any|the|all) {_FILES}){_HAS}(?:{_AGE} )?{_CHANGED}{SCOPE} {_WHEN}",
    rf"{_SEE}(?:what|(?:has )?anything|(?:which|what|any|the|all) {_FILES}){_HAS}(?:just )?{_CHANGED} {_WHEN}{SCOPE}",
    rf"{_SEE}(?:what|(?:which|what) {_FILES}){_HAS}{_AGE} {_CHANGED}{SCOPE}",
    rf"{_SEE}(?:what|(?:which|what) {_FILES}) (?:did|have) (?:i|we|you) "
    rf"(?:(?:just )?(?:change|modify|edit|touch|update|{_CHANGED}) {_WHEN}|"
    rf"(?:last|recently) (?:change|modify|edit|touch|update|{_CHANGED})){SCOPE}",
    rf"{_SEE}(?:the |all )?(?:{_NUMBER} )?{_AGE} {_CHANGED} {_FILES}{SCOPE}",
    rf"{_SEE}(?:the )?last {_NUMBER} {_CHANGED} {_FILES}{SCOPE}",
    rf"{_SEE}(?:the )?(?:{_NUMBER} )?(?:newest|latest|(?:most )?recent)(?: {_CHANGED})? {_FILES}{SCOPE}",
    rf"{_SEE}(?:the )?(?:newest|latest) {_NUMBER}(?: {_CHANGED})? {_FILES}{SCOPE}",
    rf"{_SEE}(?:the |all )?{_SORT}files?{SCOPE} (?:that (?:was|were|have been|i|we) )?{_CHANGED} {_WHEN}",
    rf"{_SEE}(?:the |all )?{_SORT}files? (?:that (?:was|were|have been|i|we) )?{_CHANGED} {_WHEN}{SCOPE}",
    rf"{_SEE}(?:the |all )?{_SORT}files?{SCOPE} (?:(?:sorted|ordered) )?by (?:(?:modification )?(?:time|date)|age|"
    rf"(?:date|time) (?:modified|changed))",
    rf"{_SEE}(?:the )?(?:(?:most )?recent|latest|last) changes{SCOPE}",
)


def largest(request: Request, named: Mapping[str, str | None]) -> Plan | None:
    wanted = _files(request, named, "size")
    limit = _limit(named)
    if wanted is None or limit == 0:
        return None
    return Plan({**wanted, "limit": limit}, lambda text: _tell(text, limit, "smaller", []))


def changed_lately(request: Request, named: Mapping[str, str | None]) -> Plan | None:
    wanted = _files(request, named, "modified")
    if wanted is None:
        return None
    try:
        since = _since(named)
    except OverflowError:
        return None
    by = ["[by the files' own times of change; who changed them, and git's history, was not looked at]"]
    if since is None:
        limit = _limit(named)
        return None if limit == 0 else Plan({**wanted, "limit": limit}, lambda text: _tell(text, limit, "older", by))
    return Plan(wanted, lambda text: _tell_since(text, since, by))


def _files(request: Request, named: Mapping[str, str | None], order: str) -> dict[str, str] | None:
    path = request.place(named.get("where"), must_exist=True)
    sort = named.get("sort")
    pattern = sort_pattern(request, sort) if sort else "**/*"
    if path is None or pattern is None or request.is_file(path):
        return None
    return {"pattern": pattern, "path": path, "order": order}


def _limit(named: Mapping[str, str | None]) -> int:
    said = (named.get("count") or "").lower()
    if not said:
        return 1 if named.get("one") else _USUAL
    return min(int(said) if said.isdigit() else _NUMBERS.index(said), LARGEST_LISTING)


def _tell(text: str, limit: int, rest: str, notes: list[str]) -> str:
    found = Listing.read(text, limit)
    if found is None:
        return text
    more = found.number - limit
    left = [f"[not shown: {count(more, f'{rest} file')}]"] if more > 0 else []
    return "\n".join([text.split("\n", 1)[0], *found.shown, *left, *notes, *found.lasting_notes])


def _since(named: Mapping[str, str | None]) -> datetime | None:
    now = datetime.now().astimezone()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if named.get("today"):
        return midnight
    if named.get("yesterday"):
        return (midnight.replace(tzinfo=None) - timedelta(days=1)).astimezone()
    if unit := named.get("unit"):
        return now - int(named.get("amount") or 1) * timedelta(**{f"{unit.lower()}s": 1})
    return None


def _tell_since(text: str, since: datetime, notes: list[str]) -> str:
    found = Listing.read(text)
    if found is None:
        return text
    recent = [line for line in found.shown if (at := _time(line)) is None or at >= since]
    kept = found.lasting_notes if len(recent) < len(found.shown) else found.notes
    head = f"[{count(len(recent), 'file')} of {found.number:,} changed since {since:%Y-%m-%d %H:%M}]"
    return "\n".join([head, *recent, *notes, *kept])


def _time(line: str) -> datetime | None:
    stamp = re.match(r"\d{4,}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}(?=  )", line)
    try:
        return datetime.strptime(stamp[0], "%Y-%m-%d %H:%M:%S %z") if stamp else None
    except ValueError:
        return None
