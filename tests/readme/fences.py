"""The fenced blocks of a Markdown document."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block. `shown` is the `text` block that follows an `sh` block with only blank lines between."""

    language: str
    text: str
    line: int
    shown: str | None = None


def blocks(document: str) -> list[Block]:
    found = list(_FENCE.finditer(document))
    result: list[Block] = []
    for number, fence in enumerate(found):
        following = found[number + 1] if number + 1 < len(found) else None
        shown = None
        if following is not None and following[1] == "text" and not document[fence.end() : following.start()].strip():
            shown = following[2]
        result.append(Block(fence[1], fence[2], document.count("\n", 0, fence.start()) + 1, shown))
    return result


BLOCKS = blocks(README.read_text(encoding="utf-8"))
