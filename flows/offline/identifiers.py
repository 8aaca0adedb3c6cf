"""Names of code: where one is defined, and where it is called, as far as the shape of a line tells."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .phrases import IN, SCOPE
from .plan import Listing, Plan
from .request import WORD, Request

_NOUN = r"(?:function|class|method|struct|enum|trait|interface|type|variable|constant|symbol|macro|fixture)"
_NAME = rf"(?:(?:the )?{_NOUN} )?(?P<name>{WORD}?)(?: {_NOUN})?"
_NOUNED = rf"(?:the )?(?:{_NOUN} (?P<loose>{WORD}?)|(?P<before>{WORD}?) {_NOUN})"
_MADE = r"(?:defined|declared|implemented)"
_SEE = r"(?:find|locate|show(?: me)?|see|go to|goto|jump to|take me to|open|get|give me|look up|search for|look for)"

DEFINITION = (
    rf"(?:where|how) {_NAME} is {_MADE}{SCOPE}",
    rf"where (?:can|could|do|does) (?:i|we|you) (?:find|see) (?:where |how )?{_NAME} (?:is )?{_MADE}{SCOPE}",
    rf"where (?:can|could|do|does) (?:i|we|you) (?:find|see) (?:the )?(?:definition|declaration|implementation) "
    rf"(?:of|for) {_NAME}{SCOPE}",
    rf"(?P<loose>{WORD}?)(?:'s)? (?:definition|declaration|implementation){SCOPE}",
    rf"where {IN} (?:is|are) {_NAME} {_MADE}",
    rf"(?:where|in (?:which|what) (?:file|module|place|line))(?: is|'s| are| was) {_NAME} {_MADE}{SCOPE}",
    rf"(?:which|what) (?:file|module|line) (?:is|was) {_NAME} {_MADE}(?: in| on)?",
    rf"(?:(?:find(?: out)?|show(?: me)?|see|locate) )?where {_NAME} (?:is|gets?|was) {_MADE}{SCOPE}",
    rf"(?:where|in (?:which|what) file) (?:do|does|did) (?:we|i|you|they|it|the code) (?:define|declare|implement) "
    rf"{_NAME}{SCOPE}",
    rf"(?:{_SEE} |where(?: is|'s) |what(?: is|'s) |(?:which|what) (?:file|module) (?:has|holds|contains) )?(?:the )?"
    rf"(?:definition|declaration|implementation)s? (?:of|for) (?:(?:the )?{_NOUN} )?(?P<loose>{WORD}?)(?: {_NOUN})?"
    rf"{SCOPE}",
    rf"(?:which|what) (?:source )?(?:file|module|line|class)s? (?:defines?|declares?|implements?) {_NAME}{SCOPE}",
    rf"(?:who|what) (?:defines|declares|implements) {_NAME}{SCOPE}",
    rf"(?:{_SEE}|where(?: is|'s)) {_NOUNED}{SCOPE}",
)

_CODE = r"(?:files?|functions?|methods?|modules?|code|lines?|places?|tests?)"

CALLERS = (
    rf"where {IN} (?:is|are) {_NAME} (?:being )?(?:called|invoked)",
    rf"(?:which|what) {_CODE} (?:is|are) (?:calling|invoking) {_NAME}{SCOPE}",
    rf"(?:who|what) (?:calls|is calling|invokes) {_NAME}{SCOPE}",
    rf"(?:which|what) {_CODE} (?:calls?|invokes?) {_NAME}{SCOPE}",
    rf"(?:{_SEE}|list)(?: me)?(?: all| every| any)?(?: the)? (?:{_CODE}|everything|everyone) "
    rf"(?:(?:that|which) (?:calls?|invokes?)|calling|invoking) {_NAME}{SCOPE}",
    rf"(?:{_SEE}|list|what are|who are)?(?: me)? ?(?:all |every )?(?:of )?(?:the )?(?:callers?|calls?|call sites?|"
    rf"invocations?) (?:of|to|for) {_NAME}{SCOPE}",
    rf"(?:where|from where)(?: is|'s| are| was) {_NAME} (?:being )?(?:called|invoked)(?: from)?{SCOPE}",
    rf"(?:(?:find(?: out)?|show(?: me)?|see|locate) )?where {_NAME} (?:is|gets?|was) (?:being )?(?:called|invoked)"
    rf"(?: from)?{SCOPE}",
    rf"where (?:do|does) {_NAME} gets? (?:called|invoked)(?: from)?{SCOPE}",
    rf"where (?:do|does) (?:we|i|you|they|it|the code|anything|anyone) (?:call|invoke) {_NAME}{SCOPE}",
    rf"is {_NAME} (?:ever )?(?:called|invoked)(?: from)?{SCOPE}",
    rf"(?:does|do|is|are) (?:anything|anyone|any files?|something|we) (?:call|invoke|calling|invoking) {_NAME}{SCOPE}",
)

_MODIFIER = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([^)]*\))?|unsafe|"
    r"extern|virtual|override|inline|const|sealed|partial|data|open|declare|global|local|readonly|constexpr)\s+)"
)
_MODIFIERS = f"{_MODIFIER}*"
_KEYWORDS = (
    r"(?:def|class|fn|func(?:\s*\([^)]*\))?|fun|function\*?|sub|struct|enum|union|trait|interface|protocol|type|"
    r"typedef|typealias|record|object|module|mod|namespace|package|macro_rules!|macro|const|let(?:\s+mut)?|var|val|"
    r"static|define|defmodule|defp?|defmacro|defn|proc|#\s*define|my|our)"
)
_C_TYPE = r"(?:void|bool|char|short|int|long|float|double|auto|string|unsigned|size_t|\w+_t|\w+[\s*&]*[*&])"


def definition_pattern(name: str) -> str:
    """A regular expression, for ripgrep as for Python, for lines that look as if they define a name."""
    word = re.escape(name)
    return (
        rf"^\s*(?:{_MODIFIERS}{_KEYWORDS}\s+(?:self\.)?{word}(?:\W|$)"
        rf"|{_MODIFIERS}(?:[\w:]+\s+)*{_C_TYPE}\s*{word}\s*\("
        rf"|{_MODIFIERS}(?:[\w<>\[\],.?]+\s+)?{word}\s*\([^()]*\)\s*(?::[^{{]*)?\{{\s*$"
        rf"|{_MODIFIER}+[\w<>\[\],.?]+\s+{word}\s*[=;]"
        rf"|(?:self\.|this\.)?{word}(?:\s*:\s*[^=]+)?\s+:?=(?:\s|$)"
        rf"|{word}\s*:\s*(?:async\s*)?(?:function\W|\([^)]*\)\s*=>)"
        rf"|{word}\s*:\s*[\w\[\]., |\"']*[\w\]\"']$)"
        rf"|^{word}\s*(?::[^=]+)?=(?:[^=>]|$)"
    )


def call_pattern(name: str) -> str:
    return rf"\b{re.escape(name)}\s*\("


def where_defined(request: Request, named: Mapping[str, str | None]) -> Plan | None:
    name, path = _name(request, named), request.place(named.get("where"), must_exist=True)
    if name is None or path is None:
        return None

    def tell(text: str) -> str:
        found = Listing.read(text, limit=100)
        if found is not None and found.number == 0:
            none = f"No line looks like a definition of {name}; ask `find {name}` for every line that mentions it."
            return "\n".join([none, *found.notes])
        return f"{text}\n[by the shape of the lines: those that look like a definition of {name}]"

    return Plan({"pattern": definition_pattern(name), "path": path}, tell)


def who_calls(request: Request, named: Mapping[str, str | None]) -> Plan | None:
    name, path = _name(request, named), request.place(named.get("where"), must_exist=True)
    if name is None or path is None:
        return None
    return Plan({"pattern": call_pattern(name), "path": path}, lambda text: _tell_calls(text, name))


def _tell_calls(text: str, name: str) -> str:
    found = Listing.read(text, limit=100)
    if found is None:
        return text
    definition = re.compile(definition_pattern(name))
    calls = [line for line in found.shown if not definition.search(_code(line))]
    defining = len(found.shown) - len(calls)
    more = found.number - len(found.shown)
    head = f"[{_looking(len(calls))} like a call of {name}{' among those shown' if more else ''}]"
    if not calls and not more:
        head = f"No line looks like a call of {name}; ask `find {name}` for every line that mentions it."
    left = [f"[left out: {_looking(defining)} like its definition]"] if defining else []
    by = f"[by text: {name} followed by a parenthesis, in comments and strings too; a call by another name is not seen]"
    return "\n".join([head, *calls, *left, by, *found.notes])


def _looking(number: int) -> str:
    return f"{number:,} line that looks" if number == 1 else f"{number:,} lines that look"


def _code(line: str) -> str:
    """The line of a file in a line of grep's result."""
    return re.sub(r"^.*?:\d+: ", "", line, count=1)


def _name(request: Request, named: Mapping[str, str | None]) -> str | None:
    """The identifier that is asked about; a dotted one would need more than the shape of a line.

    Where the phrasing fits other things than code, a plain lower-case word is taken for one of those.
    """
    loose = named.get("loose") or named.get("before")
    said = named.get("name") or loose or ""
    word = request.plain(said).removesuffix("()")
    if not re.fullmatch(r"[^\W\d]\w*", word) or re.fullmatch(_NO_NAME, word, re.IGNORECASE):
        return None
    return None if loose and said == word and word.islower() and word.isalpha() else word


_NO_NAME = (
    r"it|this|that|them|these|those|something|anything|everything|nothing|me|us|you|him|her|whom|the|a|an|any|all|every|"
    rf"each|which|what|who|for|{_NOUN}"
)
