"""Requests to list what a folder holds."""

from __future__ import annotations

from collections.abc import Mapping

from .phrases import PLACE, SCOPE
from .plan import Plan
from .request import WORD, Request

_ITEMS = (
    r"(?:files?(?: (?:and|or) (?:folders|directories|dirs))?|(?:folders|directories) and files|contents?|entries|"
    r"everything|(?:current )?(?:directory|folder|dir)(?: (?:contents?|listing))?|(?:file )?listing)"
)

LIST = (
    rf"(?:ls|dir|ll)(?: (?P<where>{WORD}))?",
    rf"(?:list|show|display|print|give|see|enumerate)(?: me| us)?(?: all| just)?(?: of)?(?: the| my)? {_ITEMS}"
    rf"(?: that(?: are|'s| is))?(?: there)?{SCOPE}",
    rf"(?:list|show|display|print|see|open|browse|explore|look (?:in|into|at|inside))(?: me)? (?P<known>{PLACE})",
    rf"(?:(?:what(?:'s| is| are)|show(?: me)? what(?:'s| is))(?: there)?|what)(?: (?:all )?the {_ITEMS})? "
    rf"(?:is |are )?(?:in|inside|under|within|of) (?P<known>{PLACE})",
    rf"(?:what|which) (?:{_ITEMS}|things) (?:is|are|exists?|lives?|sit|do (?:i|we|you) (?:have|see))(?: there)?{SCOPE}",
    rf"what does (?P<known>{PLACE}) (?:contain|hold|have(?: in it)?|include)",
    r"(?:show(?: me)? )?what(?:'s| is) (?P<where>here)",
    rf"(?:the )?(?:(?:all )?files|contents?|(?:\w+ )?listing) (?:in|inside|under|of|for) (?P<known>{PLACE})",
)


def list_files(request: Request, named: Mapping[str, str | None]) -> Plan | None:
    known = named.get("known")
    path = request.place(known or named.get("where"), must_exist=bool(known or named.get("loosely")))
    return None if path is None or request.is_file(path) else Plan({"path": path})
