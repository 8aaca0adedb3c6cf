"""Requests to find a text: the text may be quoted or one word, the place is optional."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .phrases import IN, PLACE, SCOPE
from .plan import Plan
from .request import WORD, Request

_TARGET = r"(?P<target>\S.*?)"
_SHOWN = r"(?:mentioned|used|referenced|imported|found|set|raised|written)"
_SHOWS = r"(?:occurs?|appears?|shows? up|comes? up|gets? used)"
_USE = r"(?:use|mention|reference|import|set|contain)"
_ITEMS = r"(?:occurrences?|mentions?|uses?|usages?|references?|instances?|appearances?|lines?|places?|files?)"

SEARCH = (
    rf"(?P<vague>find|locate|look for|show(?: me)?(?= (?:all|every|each) )) {_TARGET}{SCOPE}",
    rf"(?:search(?: for)?|grep(?: for)?|rg|find (?:the )?(?:text|string|word|phrase)) {_TARGET}{SCOPE}",
    rf"(?:search|look|grep)(?: in| through| inside)? (?P<existing>{PLACE}) for {_TARGET}",
    rf"(?:grep|rg) {_TARGET} (?P<existing>{WORD})",
    rf"(?:find|search for|list|show(?: me)?)(?: all| every)?(?: of)?(?: the)? {_ITEMS} "
    rf"(?:of|to|with|containing|mentioning|using|that (?:contain|mention|use|have)) {_TARGET}{SCOPE}",
    rf"where (?:is|are|was|were) {_TARGET} (?:being )?{_SHOWN}{SCOPE}",
    rf"(?:(?:find(?: out)?|show(?: me)?|see|locate) )?where {_TARGET} (?:is|are|gets?) (?:being )?{_SHOWN}{SCOPE}",
    rf"where (?:(?:do|does|did) )?{_TARGET} {_SHOWS}{SCOPE}",
    rf"where (?:do|does) (?:we|i|it|they|the code|anything|anyone) {_USE} {_TARGET}{SCOPE}",
    rf"where (?:can|could|do) (?:i|we|you) (?:find|see) {_TARGET}{SCOPE}",
    rf"(?P<vague>where(?: is|'s| are)) {_TARGET}{SCOPE}",
    rf"(?:in )?(?:which|what) (?:files?|lines?|places?)(?: {IN})? (?:is|are|does|do) {_TARGET} (?:{_SHOWN}|{_SHOWS})",
    rf"(?:which|what) (?:files?|lines?|places?) "
    rf"(?:mentions?|contains?|uses?|references?|includes?|imports?|has|have) {_TARGET}{SCOPE}",
    rf"(?:who|what) (?:uses|mentions|references|imports) {_TARGET}{SCOPE}",
    rf"(?:is|are) {_TARGET} {_SHOWN}{SCOPE}",
    rf"(?:does|do) (?:anything|anyone|any files?|something|we) {_USE} {_TARGET}{SCOPE}",
    rf"(?:(?:is|are) there )?(?:a|an|any|some) {_ITEMS} (?:of|to|with|containing) {_TARGET}{SCOPE}",
    rf"(?P<vague>(?:(?:is|are) there )?(?:a|an|any|some)) {_TARGET}{SCOPE}",
)

_LEADING = re.compile(
    r"(?:all|every|any|each|of|the|a|an|text|string|word|words|phrase|literal|identifier|symbol|name|function|"
    r"method|class|variable|constant|setting|occurrences?|mentions?|uses?|usages?|references?|instances?) ",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(\S+) (?:comments?|markers?|notes?|strings?|text|identifiers?|symbols?|functions?|methods?|class|classes|"
    r"variables?|constants?|settings?|calls?|words?)",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"it|this|that|them|these|those|some|some?thing|every?thing|any?thing|files?|folders?|director(?:y|ies)|"
    r"lines?|text|where|what|how|why",
    re.IGNORECASE,
)
_METACHARACTER = re.compile(r"[\\.+*?()|\[\]{}^$]")


def search(request: Request, named: Mapping[str, str | None]) -> Plan | None:
    existing = named.get("existing")
    path = request.place(existing or named.get("where"), must_exist=bool(existing or named.get("loosely")))
    text = text_of(request, named["target"] or "", vague=named.get("vague") is not None)
    if path is None or text is None:
        return None
    return Plan({"pattern": literal_pattern(text), "path": path})


def literal_pattern(text: str) -> str:
    """A regular expression of ripgrep's that fits only a text itself."""
    return _METACHARACTER.sub(r"\\\g<0>", text)


def text_of(request: Request, target: str, *, vague: bool) -> str | None:
    """The one text to look for: a quoted string or a single word, which must look like code after a `vague` verb."""
    while shorter := _LEADING.match(target):
        target = target[shorter.end() :]
    if longer := _TRAILING.fullmatch(target):
        target = longer[1]
    quotation = request.quotation(target)
    if quotation is not None:
        return quotation
    if not re.fullmatch(r'[^\s"-][^\s"]*', target) or _POINTING.fullmatch(target):
        return None
    if vague and ((target.islower() and target.isalpha()) or _is_file_name(request, target)):
        return None
    return target[:-1] if re.fullmatch(r"[A-Z]{2,}s", target) else target


def _is_file_name(request: Request, word: str) -> bool:
    return bool(re.search(r"\.\w{1,5}$|[*/]", word)) or request.is_file(word) or request.is_folder(word)
