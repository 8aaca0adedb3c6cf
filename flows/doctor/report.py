"""The report of `turngraph doctor`: sections of lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "missing", "problem"]


@dataclass(frozen=True)
class Line:
    """One finding. `missing` could be there and need not be; a `problem` does not work, and one that `blocks` keeps
    every turn from running. `mend` is the command or the change that helps."""

    status: Status
    text: str
    mend: str = ""
    blocks: bool = False


@dataclass(frozen=True)
class Section:
    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Report:
    sections: tuple[Section, ...]

    @property
    def can_run(self) -> bool:
        """Whether a turn could run, as far as can be seen without asking a model."""
        return not any(line.blocks for section in self.sections for line in section.lines)


def ok(text: str) -> Line:
    return Line("ok", text)


def missing(text: str, mend: str = "") -> Line:
    return Line("missing", text, mend)


def problem(text: str, mend: str = "", *, blocks: bool = False) -> Line:
    return Line("problem", text, mend, blocks)
