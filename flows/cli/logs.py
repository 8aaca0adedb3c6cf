"""`--debug`: the package's log on stderr, with secrets taken out."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TextIO

from ...tools.secret import Secrets
from .terminal import plain


class RedactingFormatter(logging.Formatter):
    """Formats a record whole, traceback included, and then takes out every secret."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = Secrets(environ)

    def format(self, record: logging.LogRecord) -> str:
        return self._secrets.redact(plain(super().format(record)))


def log_to(stream: TextIO, environ: Mapping[str, str]) -> None:
    """Send everything that the logger `turngraph` and its children say to the stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(RedactingFormatter(environ))
    logger = logging.getLogger("turngraph")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
