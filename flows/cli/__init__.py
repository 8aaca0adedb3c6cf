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

    terminal.occupy_standard_descriptors()
    sys.stdout = terminal.guarded(sys.stdout)
    sys.stderr = terminal.guarded(sys.stderr)
    from .app import invoke

    code = invoke(sys.argv[1:] if args is None else args)
    if isinstance(sys.stdout, terminal.Guarded) and (loss := sys.stdout.loss):
        print(f"turngraph: the output could not be written: {loss.strerror}", file=sys.stderr)
        code = code or 1
    signals.leave_with(code)
    sys.exit(code)
