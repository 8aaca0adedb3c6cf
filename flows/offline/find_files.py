"""Requests to find files by their names."""

from __future__ import annotations

from collections.abc import Mapping

from .languages import containing, ending_pattern, literal, name_pattern, sort_pattern
from .phrases import SCOPE
from .plan import Listing, Plan
from .request import WORD, Request

_SEE = r"(?:find|locate|list|show|search for|look for|get|give|ls|are there|(?:do|does) (?:we|i|you) have)(?: me| us)?"
_ALL = r"(?: (?:a|the) list of)?(?: all| every| any| some)?(?: of)?(?: the| my)?"
_WHICH = rf"(?:{_SEE}{_ALL} |(?:which|what) |(?:all|any)(?: the)? )?"
_CALLED = (
    r"(?:(?:(?:that|which) )?(?:are|is) )?(?:named|called|matching|like|with the name|(?:that|which) match(?:es)?|"
    r"whose (?:file ?)?names? (?:is|are|match(?:es)?))"
)
_ENDS = (
    r"(?:(?:that |which |whose (?:file ?)?names? )?(?:ends?|ending)(?: in| with)|"
    r"(?:with|having)(?: the| an?)? (?:extension|suffix|ending)|of type)"
)
_STARTS = (
    r"(?:(?:that |which |whose (?:file ?)?names? )?(?:starts?|starting|begins?|beginning)(?: with)|with the prefix)"
)
_HOLDS = r"(?:whose|where the|with) (?:file ?)?names? (?:contains?|includes?|has|have|having|containing|with)"
_PART = rf"(?P<part>{WORD}?)"
_END = r"(?: (?:are there|exist|do (?:we|i|you) have))?"

FIND = (
    rf"{_WHICH}(?P<sort>[\w.*+#]+) files?{_END}{SCOPE}",
    rf"{_WHICH}(?P<sort>\*\.[\w.*]+)(?: files?)?{SCOPE}",
    rf"(?:which|what) (?P<sort>[\w.*+#]+) files? (?:are|is|live|exist)(?: there)?{SCOPE}",
    rf"where (?:the |my |our )?(?P<word>{WORD}?)(?: file)? (?:is|lives)(?: located| stored| kept| saved)?{SCOPE}",
    rf"{_WHICH}files? {_CALLED} (?P<name>{WORD}?){SCOPE}",
    rf"{_WHICH}files? {_ENDS} (?P<ending>{WORD}?){SCOPE}",
    rf"{_WHICH}files? {_STARTS} (?P<start>{WORD}?){SCOPE}",
    rf"{_WHICH}files? {_HOLDS} {_PART}{SCOPE}",
    rf"{_WHICH}files? (?:(?:that |which )?(?:have|has|contains?)|with|containing|having) (?:the word )?{_PART} in "
    rf"(?:its|their|the) (?:file ?)?names?{SCOPE}",
    rf"(?:find|locate|look for|search for|show me where) (?:the |a |any )?(?:file )(?:named |called )?(?P<name>{WORD}?)"
    rf"(?: is)?{SCOPE}",
    rf"(?:find|locate|look for|search for|ls)(?: the| my| our| a| any)? (?P<word>{WORD}?)(?: file)?{SCOPE}",
    rf"where(?: is|'s| are)(?: the| my| our)? (?:file )(?:named |called )?(?P<name>{WORD}?)"
    rf"(?: located| stored| kept| saved)?{SCOPE}",
    rf"where(?: is|'s| are)(?: the| my| our)? (?P<word>{WORD}?)(?: file)?(?: located| stored| kept| saved)?{SCOPE}",
    rf"where (?:can|could|do|does|did) (?:i|we|you) (?:find|see|keep|have|put|leave|save)(?: the| my| our)? "
    rf"(?P<word>{WORD}?)(?: file)?"
    rf"{SCOPE}",
    rf"(?:is|are) there (?:a|an|any|some) (?:file (?:named |called )?)(?P<name>{WORD}?){SCOPE}",
    rf"(?:is|are) there (?:a|an|any|some) (?P<word>{WORD}?)(?: file)?{SCOPE}",
    rf"(?:do|does) (?:we|i|you|it|this (?:project|repo|repository|folder)) have (?:a|an|any|the) (?P<word>{WORD}?)"
    rf"(?: file)?{SCOPE}",
    rf"(?:does|do) (?:the file )?(?P<word>{WORD}?) exists?{SCOPE}",
)


def find_files(request: Request, named: Mapping[str, str | None]) -> Plan | None:
    path = request.place(named.get("where"), must_exist=True)
    pattern = _pattern(request, named)
    if path is None or pattern is None or request.is_file(path):
        return None
    said = next(value for key in _SAID if (value := named.get(key)))
    return Plan({"pattern": pattern, "path": path}, lambda text: _tell(text, pattern, request.plain(said)))


_SAID = ("name", "word", "part", "start", "ending", "sort")


def _pattern(request: Request, named: Mapping[str, str | None]) -> str | None:
    if sort := named.get("sort"):
        return sort_pattern(request, sort)
    if ending := named.get("ending"):
        return ending_pattern(request, ending)
    if start := named.get("start"):
        return literal(request.plain(start).removesuffix("*")) + "*"
    if part := named.get("part"):
        return containing(request.plain(part))
    if name := named.get("name"):
        return name_pattern(request, name, certain=True)
    return name_pattern(request, named.get("word") or "", certain=False)


def _tell(text: str, pattern: str, said: str) -> str:
    """The tool's own text; a pattern that spells out both cases of each letter is shown as what was said."""
    shown = text.replace(f" for {pattern!r} in ", f" for {said!r}, in upper or lower case, in ", 1)
    text = shown if "][" in pattern else text
    found = Listing.read(text)
    if found is None or found.number:
        return text
    return f'{text}\n[names were searched; for a text in the files ask: find "{said}"]'
