"""Where the prompt of a run comes from: the argument, or stdin."""

from __future__ import annotations

import sys

from .failures import Misuse

_HOW = 'write turngraph run "WHAT TO DO", or pipe it in'


def read_prompt(argument: str | None) -> str:
    """The prompt.

    Raises:
        Misuse: there is none, it is blank, or stdin is no text.
    """
    prompt = _from_stdin(argument) if argument is None or argument == "-" else argument
    # What of an argument is no UTF-8 arrives as lone surrogates, which no model's server accepts.
    prompt = prompt.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if not prompt.strip():
        raise Misuse(f"the prompt is empty; {_HOW}")
    return prompt


def _from_stdin(argument: str | None) -> str:
    if sys.stdin is None or (argument is None and sys.stdin.isatty()):
        raise Misuse(f"there is no prompt; {_HOW}")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise Misuse(f"stdin is no {error.encoding} text (byte {error.start}); pipe in text") from None
    except OSError as error:
        raise Misuse(f"stdin cannot be read: {error.strerror}; {_HOW}") from None
