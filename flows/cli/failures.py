"""What a command says when it cannot do what was asked: one sentence, and a document where JSON was asked
for."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import cast

import typer

from .document import error_document
from .terminal import visible


class Misuse(typer.TyperException):
    """The command line asks for something that cannot be; the text is the sentence to show."""

    exit_code = 2


def report(error: BaseException, args: Sequence[str]) -> int:
    """Say what went wrong on stderr (and as JSON on stdout, if a turn was to be JSON); the exit code."""
    from ...tools.secret import Secrets

    secrets = Secrets(os.environ)
    kind, code, message = _meaning(error)
    message = secrets.redact(message)
    if "--debug" in args:
        print(secrets.redact("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    print(f"turngraph: {message}", file=sys.stderr)
    form = wanted_output(args)
    if form is not None:
        print(json.dumps(error_document(form, kind, code, message)))
    return code


def wanted_output(args: Sequence[str]) -> str | None:
    """The machine-readable form that a command line asks for a turn in, found even when the line does not parse."""
    if "run" not in args and list(args[:2]) not in (["turn", "resume"], ["turn", "fork"]):
        return None
    options = list(args[: args.index("--")] if "--" in args else args)
    form: str | None = None
    for option, value in zip(options, [*options[1:], ""], strict=True):
        name, joined, rest = option.partition("=")
        if name == "--output":
            form = rest if joined else value
    return form if form in ("json", "jsonl") else None


def _meaning(error: BaseException) -> tuple[str, int, str]:
    if isinstance(error, BaseExceptionGroup):
        return _meaning(cast(BaseExceptionGroup[BaseException], error).exceptions[0])
    if isinstance(error, Misuse):
        return "usage_error", 2, _sentence(error.message)
    if isinstance(error, typer.TyperException):
        return "usage_error", 2, _parsers_sentence(error)
    from ...nodes.errors import TurngraphError

    if isinstance(error, TurngraphError):
        return error.outcome.value, error.outcome.exit_code, _sentence(str(error))
    text = _sentence(f"{type(error).__name__}: {error}")
    return "internal_error", 1, f"{text} (this is a fault of turngraph or of the system; --debug shows where)"


def _parsers_sentence(error: typer.TyperException) -> str:
    """What the parser says, in this program's voice, with where to read on."""
    text = _sentence(error.format_message()).replace("Value error, ", "").rstrip(".")
    command = getattr(getattr(error, "ctx", None), "command_path", "turngraph")
    text = f"{text[:1].lower()}{text[1:]}".replace(". Did you mean", "; did you mean")
    return text if text.endswith("?") else f"{text}; see {command} --help"


def _sentence(text: str) -> str:
    return visible(" ".join(text.split()))
