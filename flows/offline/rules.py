"""The kinds of request that need no language model: how each is phrased, and the call that answers it.

A phrasing must fit the whole request. One that says more than a rule understands fits none, so nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .list_files import LIST, list_files
from .request import Request
from .search import SEARCH, search
from .show_file import SHOW, show_file

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Rule:
    """One kind of request. `arguments` gives the call's, or `None` when the words only seemed to fit."""

    kind: str
    example: str
    tool: str
    phrasings: tuple[str, ...]
    arguments: Callable[[Request, Mapping[str, str | None]], Arguments | None]

    def read(self, request: Request) -> Arguments | None:
        for phrasing in self.phrasings:
            found = re.fullmatch(phrasing, request.text, re.IGNORECASE)
            if found and (arguments := self.arguments(request, found.groupdict())) is not None:
                return arguments
        return None


RULES = (
    Rule("show a file", "read lines 10 to 20 of src/app.py", "read_file", SHOW, show_file),
    Rule("list files", "list the files in src", "list_dir", LIST, list_files),
    Rule("find a text", 'find "TODO" in src', "grep", SEARCH, search),
)


def route(request: Request) -> tuple[Rule, Arguments] | None:
    """The first rule that understands the whole request, and its call's arguments."""
    for rule in RULES:
        if (arguments := rule.read(request)) is not None:
            return rule, arguments
    return None
