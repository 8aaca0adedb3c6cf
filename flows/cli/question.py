"""The question before a call: shows exactly what would run, reads yes, no or abort from the terminal."""

from __future__ import annotations

import json
import os
import sys
import termios
from collections.abc import Callable
from typing import TextIO

import anyio

from ...tools.policy import Abort, Allow, CallRequest, Decision, Refuse
from .terminal import visible

_CHOICES = "Run it? y = yes, n = no (n REASON tells the model why), a = abort the turn: "


def person_is_there() -> bool:
    """Whether someone can read the question and answer it."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


class Question:
    """Asks a person at a terminal, one question at a time. `before` runs first, to finish what is on the
    screen."""

    def __init__(self, fd: int, stderr: TextIO, before: Callable[[], None]) -> None:
        self._fd = fd
        self._stderr = stderr
        self._before = before
        self._turn = anyio.Lock()
        self._open: anyio.CancelScope | None = None

    def abort(self) -> bool:
        """Answer the open question with 'abort'; false if none is open."""
        if self._open is None:
            return False
        self._open.cancel()
        return True

    async def ask(self, request: CallRequest) -> Decision:
        async with self._turn:
            self._before()
            self._say("\n".join(["", *describe(request), ""]))
            # What was typed before the question was shown is no answer to it.
            termios.tcflush(self._fd, termios.TCIFLUSH)
            with anyio.CancelScope() as scope:
                self._open = scope
                try:
                    return await self._decision()
                finally:
                    self._open = None
            self._say("\n")
            return Abort()

    async def _decision(self) -> Decision:
        while True:
            self._say(_CHOICES)
            line = await self._read_line()
            if not line:
                self._say("\n")
                return Abort()
            word, _, rest = line.strip().partition(" ")
            match word.lower():
                case "y" | "yes":
                    return Allow()
                case "n" | "no":
                    return Refuse(f"the user said no: {rest.strip()}" if rest.strip() else "the user said no")
                case "a" | "abort":
                    return Abort()
                case _:
                    continue

    async def _read_line(self) -> str:
        """One line, or nothing at the end of input. No thread waits: an interrupt leaves nothing behind."""
        await anyio.wait_readable(self._fd)
        try:
            return os.read(self._fd, 4096).decode(errors="replace")
        except OSError:
            return ""

    def _say(self, text: str) -> None:
        self._stderr.write(text)
        self._stderr.flush()


def describe(request: CallRequest) -> list[str]:
    """What would run, in full, a line each; hidden characters show as escapes."""
    lines = [f"{visible(request.tool_name)} wants to run ({request.effect.value}):"]
    for name, value in request.args.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
        first, *rest = text.split("\n")
        lines += [f"  {visible(name)}: {visible(first)}", *(f"    {visible(line)}" for line in rest)]
    return lines if request.args else [*lines, "  (no arguments)"]
