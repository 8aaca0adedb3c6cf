"""What the terminal can show, and whether there is anybody to ask."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping

from .report import Line, missing, ok


def lines(environ: Mapping[str, str]) -> Iterator[Line]:
    if sys.stdout.isatty():
        size = shutil.get_terminal_size()
        yield ok(f"stdout is a terminal of {size.columns} columns, TERM={environ.get('TERM') or '(not set)'}")
    else:
        yield ok("stdout is no terminal: answers are written plain")
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        yield ok("colours are off: NO_COLOR is set, or TERM is dumb")
    encoding = sys.stdout.encoding or "unknown"
    if encoding.lower().replace("-", "") == "utf8":
        yield ok("stdout takes UTF-8")
    else:
        yield missing(
            f"stdout takes {encoding}: other characters are written as escapes", "export PYTHONIOENCODING=utf-8"
        )
    if sys.stdin is None or not sys.stdin.isatty() or not sys.stderr.isatty():
        yield missing(
            "there is no terminal to ask on: under the policy ask, tools that write or run commands are refused",
            "turngraph run --policy auto, where everything may run unasked",
        )
    else:
        yield ok("questions can be asked on this terminal")
