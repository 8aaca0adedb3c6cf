"""`--debug`: the package's log on stderr, with secrets taken out."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import TextIO

from .terminal import plain

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_SHORTEST_SECRET = 8


class RedactingFormatter(logging.Formatter):
    """Formats a record whole, traceback included, and then replaces every secret by `[redacted NAME]`.

    A secret is the value, of 8 characters or more, of an environment variable whose name holds KEY, TOKEN,
    SECRET or PASSWORD.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._names = {
            value: name
            for name, value in environ.items()
            if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
        }
        longest_first = sorted(self._names, key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def format(self, record: logging.LogRecord) -> str:
        text = plain(super().format(record))
        if self._secrets is None:
            return text
        return self._secrets.sub(lambda found: f"[redacted {self._names[found[0]]}]", text)


def log_to(stream: TextIO, environ: Mapping[str, str]) -> None:
    """Send everything that the logger `turngraph` and its children say to the stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(RedactingFormatter(environ))
    logger = logging.getLogger("turngraph")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
