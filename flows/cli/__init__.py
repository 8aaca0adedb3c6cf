"""The command line. `main` is all that is loaded before signals and streams are in hand."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from . import signals


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave with its exit code; no traceback, whatever happens."""
    signals.take_over()
    from . import terminal

    sys.stdout = terminal.guarded(sys.stdout, 1)
    sys.stderr = terminal.guarded(sys.stderr, 2)
    from .app import invoke

    sys.exit(invoke(sys.argv[1:] if args is None else args))
