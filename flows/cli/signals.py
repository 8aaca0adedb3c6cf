"""Ctrl-C, SIGTERM and a closed terminal: end the process at once, or whoever listens ends the turn in order.

Plain handlers, set once before anything else is imported: between two owners there is no moment in which
Python's own KeyboardInterrupt could leave a traceback or half a document.
"""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Callable
from types import FrameType

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "the terminal is gone"}
_listener: Callable[[int], None] | None = None


def take_over() -> None:
    """Handle the signals from now on. A SIGHUP that `nohup` ignores stays ignored."""
    for number in _WORDS:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)


def listen(listener: Callable[[int], None] | None) -> None:
    """Call `listener` from inside the handler from now on; with `None`, a signal ends the process at once."""
    global _listener
    _listener = listener


def leave_with(exit_code: int) -> None:
    """All has been said, the exit code too: a signal hurries the end from now on and does not change it."""
    listen(lambda _: os._exit(exit_code))
    # Python's last steps put the default handlers back, which would kill.
    atexit.register(_ignore)


def _ignore() -> None:
    for number in _WORDS:
        signal.signal(number, signal.SIG_IGN)


def say(text: str) -> None:
    """Write one line to stderr past all buffers: a handler may interrupt a buffered write."""
    try:
        os.write(2, f"turngraph: {text}\n".encode())
    except OSError:
        return


def quit_now(number: int) -> None:
    """Leave without unwinding. What is written by then is whole: the store commits, documents are single
    writes."""
    say(_WORDS[signal.Signals(number)])
    os._exit(130 if number == signal.SIGINT else 143)


def _handle(number: int, frame: FrameType | None) -> None:
    if _listener is None:
        quit_now(number)
    else:
        _listener(number)
