"""Where the prompt of a run comes from: the argument, stdin, or both."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from ...tools.wording import count
from .failures import Misuse
from .stdin import Piped, read_to_the_end, read_what_is_piped_in

_HOW = 'write turngraph run "WHAT TO DO", or pipe it in'


@dataclass(frozen=True)
class Prompt:
    """What to do. `notes` tell where it came from, `warnings` what was lost on the way."""

    text: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def read_prompt(argument: str | None, stdin: bool | None = None) -> Prompt:
    """The prompt. `stdin` tells whether to read stdin beside an argument; `None` leaves it to `flows.cli.stdin`.

    Raises:
        Misuse: there is none, it is blank, or stdin cannot be used.
    """
    if argument is None or argument == "-":
        piped = _the_prompt_itself(argument, stdin)
        prompt = Prompt(piped.text, warnings=piped.warnings)
    else:
        # What of an argument is no UTF-8 arrives as lone surrogates, which no model's server accepts.
        prompt = Prompt(argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    if not prompt.text.strip():
        raise Misuse(f"the prompt is empty; {_HOW}")
    if argument is None or argument == "-" or stdin is False:
        return prompt
    return _with_material(prompt.text, read_to_the_end() if stdin else read_what_is_piped_in())


def _the_prompt_itself(argument: str | None, stdin: bool | None) -> Piped:
    if stdin is False:
        raise Misuse(f"--no-stdin leaves no prompt to read; {_HOW}")
    if sys.stdin is None or (argument is None and sys.stdin.isatty()):
        raise Misuse(f"there is no prompt; {_HOW}")
    return read_to_the_end()


def _with_material(text: str, piped: Piped) -> Prompt:
    """The prompt with what was piped in under it, in a fence that nothing inside can close."""
    if not piped.text.strip():
        return Prompt(text, warnings=piped.warnings)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", piped.text)), default=0))
    material = piped.text.removesuffix("\n")
    lines = material.count("\n") + 1
    note = f"{count(lines, 'line')} from stdin went under the prompt"
    return Prompt(f"{text.rstrip()}\n\nFrom stdin:\n\n{fence}\n{material}\n{fence}\n", (note,), piped.warnings)
