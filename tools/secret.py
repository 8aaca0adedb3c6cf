"""What looks like a secret: variables by their names, and their values wherever they turn up in a text."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile("KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_SHORTEST = 8


def names_a_secret(variable: str) -> bool:
    """Whether the value of a variable of this name is likely to be a secret."""
    return _NAME.search(variable) is not None


class Secrets:
    """The values, of 8 characters or more, that variables of an environment hold under the name of a secret."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._names = {
            value: name for name, value in environ.items() if names_a_secret(name) and len(value) >= _SHORTEST
        }
        longest_first = sorted(self._names, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def redact(self, text: str) -> str:
        """The text with `[redacted NAME]` in place of every secret."""
        if self._values is None:
            return text
        return self._values.sub(lambda found: f"[redacted {self._names[found[0]]}]", text)
