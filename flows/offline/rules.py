"""The kinds of request that need no language model: how each is phrased, and the call that answers it.

A phrasing must fit the whole request. One that says more than a rule understands fits none, so nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .counting import COUNT_FILES, COUNT_LINES, COUNT_MATCHES, count_files, count_lines, count_matches
from .find_files import FIND, find_files
from .identifiers import CALLERS, DEFINITION, where_defined, who_calls
from .list_files import LIST, list_files
from .plan import Plan
from .ranking import LARGEST, LATELY, changed_lately, largest
from .request import Request
from .search import SEARCH, search
from .show_file import SHOW, show_file
from .tree import TREE, tree


@dataclass(frozen=True)
class Rule:
    """One kind of request. `plan` says what to call, or `None` when the words only seemed to fit."""

    kind: str
    example: str
    tool: str
    phrasings: tuple[str, ...]
    plan: Callable[[Request, Mapping[str, str | None]], Plan | None]

    def read(self, request: Request) -> Plan | None:
        for phrasing in self.phrasings:
            found = re.fullmatch(phrasing, request.text, re.IGNORECASE)
            if found and (plan := self.plan(request, found.groupdict())) is not None:
                return plan
        return None


RULES = (
    Rule("say where a name is defined", "where is main defined?", "grep", DEFINITION, where_defined),
    Rule("say who calls a function", "who calls main?", "grep", CALLERS, who_calls),
    Rule("draw the tree", "show the tree of src", "glob", TREE, tree),
    Rule("find the largest files", "what are the 5 largest files in src?", "glob", LARGEST, largest),
    Rule("say what changed lately", "what changed in the last 2 days?", "glob", LATELY, changed_lately),
    Rule("count files", "how many python files are in src?", "glob", COUNT_FILES, count_files),
    Rule("count lines", "how many lines are in src/app.py?", "grep", COUNT_LINES, count_lines),
    Rule("count a text", 'how many lines contain "TODO"?', "grep", COUNT_MATCHES, count_matches),
    Rule("find files by name", "find files named *.toml", "glob", FIND, find_files),
    Rule("show a file", "read lines 10 to 20 of src/app.py", "read_file", SHOW, show_file),
    Rule("list files", "list the files in src", "list_dir", LIST, list_files),
    Rule("find a text", 'find "TODO" in src', "grep", SEARCH, search),
)


def route(request: Request) -> tuple[Rule, Plan] | None:
    """The first rule that understands the whole request, and its plan. Rules stand from narrow to wide."""
    for rule in RULES:
        if (plan := rule.read(request)) is not None:
            return rule, plan
    return None
