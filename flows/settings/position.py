"""Where a key of a TOML document stands."""

from __future__ import annotations

import re
import tomllib


def position_of(text: str, key: str) -> tuple[int, int]:
    """Line and column, from 1, where a top-level key of a valid TOML document stands.

    The key's statement is the first one whose prefix of the document parses and holds the key.
    """
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    start = 0
    for end in range(1, len(lines) + 1):
        if start == end - 1 and lines[start].lstrip()[:1] in ("", "#"):
            start = end
            continue
        try:
            seen = tomllib.loads("".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        if key in seen:
            break
        start = end
    line = lines[start]
    return start + 1, len(line) - len(line.lstrip()) + 1


def end_of(text: str) -> tuple[int, int]:
    last = text.rpartition("\n")[2]
    return text.count("\n") + 1, len(last) + 1
