"""Where a node is written: its module, line and docstring."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """`module` is the name it is imported by, `line` where the definition begins."""

    module: str
    name: str
    line: int

    def __str__(self) -> str:
        return f"{self.module}:{self.line}"


def source_of(definition: Any) -> Source | None:
    """Where a class or function is written; `None` for one without source text."""
    if definition is None:
        return None
    try:
        _, line = inspect.getsourcelines(definition)
    except (OSError, TypeError):
        return None
    return Source(definition.__module__, definition.__qualname__, line)


def docstring_of(definition: Any) -> str:
    """The whole docstring, without its indentation; a dataclass's made-up signature is none."""
    text = inspect.cleandoc(getattr(definition, "__doc__", None) or "")
    return "" if text.startswith(f"{getattr(definition, '__name__', '')}(") else text
