"""The question before a call: shows exactly what would run and reads the person's answer from the terminal."""

from __future__ import annotations

import json
import os
import sys
import termios
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TextIO

import anyio
from rich.text import Text

from ...tools.effects import Effect
from ...tools.policy import Abort, Allow, CallRequest, Decision, Refuse
from .paper import console_on
from .proposal import Proposal, excerpt, propose
from .terminal import visible

_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_ROWS_AROUND = 8
_FEWEST_ROWS = 8


@contextmanager
def keyboard() -> Generator[int | None]:
    """The descriptor of a terminal where someone sees stderr and can answer; `None` where nobody is.

    It is stdin, or, where something is piped in, the terminal of stderr, provided that this process is in its
    foreground.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
    elif sys.stdin is not None and sys.stdin.isatty():
        yield sys.stdin.fileno()
    elif (fd := _foreground_terminal(sys.stderr.fileno())) is None:
        yield None
    else:
        try:
            yield fd
        finally:
            os.close(fd)


def _foreground_terminal(screen: int) -> int | None:
    try:
        if os.tcgetpgrp(screen) != os.getpgrp():
            return None
        return os.open(os.ttyname(screen), os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None


class Question:
    """Asks a person at a terminal, one question at a time.

    `paused` is entered while the question stands, to keep all others off the screen. What the person allows for the
    session (each call of a tool that writes, or one exact call of any other) is held in this object and nowhere else:
    another process that continues the session asks again.
    """

    def __init__(self, fd: int, stderr: TextIO, paused: Callable[[], AbstractContextManager[None]], root: Path) -> None:
        self._fd = fd
        self._console = console_on(stderr)
        self._stderr = stderr
        self._paused = paused
        self._root = root
        self._turn = anyio.Lock()
        self._open: anyio.CancelScope | None = None
        self._allowed: set[str] = set()

    def abort(self) -> bool:
        """Answer the open question with 'abort'; false if none is open."""
        if self._open is None:
            return False
        self._open.cancel()
        return True

    async def ask(self, request: CallRequest) -> Decision:
        async with self._turn:
            if _scope(request)[0] in self._allowed:
                return Allow()
            with self._paused(), anyio.CancelScope() as scope:
                self._open = scope
                try:
                    return await self._decision(request)
                finally:
                    self._open = None
                    if scope.cancel_called:
                        self._say("\n")
            return Abort()

    async def _decision(self, request: CallRequest) -> Decision:
        proposal = propose(request, self._root)
        cut = self._show(proposal)
        self._choices(request, cut)
        # What was typed before the question was shown is no answer to it.
        termios.tcflush(self._fd, termios.TCIFLUSH)
        while True:
            self._say(f"Run it? [y/n/s/{'v/' if cut else ''}a] ")
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
                case "s" | "session":
                    self._allowed.add(_scope(request)[0])
                    return Allow()
                case "a" | "abort":
                    return Abort()
                case "v" | "view":
                    self._print(proposal, proposal.lines)
                case _:
                    self._choices(request, cut)

    def _show(self, proposal: Proposal) -> bool:
        """Show what fits on the screen; true if something was left out."""
        width, height = self._console.size
        lines, cut = excerpt(proposal.lines, max(_FEWEST_ROWS, height - _ROWS_AROUND), width)
        self._console.print()
        self._print(proposal, lines)
        return cut

    def _print(self, proposal: Proposal, lines: list[str]) -> None:
        self._console.print(Text(proposal.title, style="bold"))
        for line in lines:
            self._console.print(Text(line, style=_DIFF_STYLES.get(line[:1], "") if proposal.is_diff else ""))

    def _choices(self, request: CallRequest, cut: bool) -> None:
        words = ["y = yes", "n = no (n REASON tells the model why)", f"s = {_scope(request)[1]} in this session"]
        words += ["v = show all of it"] if cut else []
        text = ", ".join([*words, "a = abort the turn"])
        self._console.print(Text(text, style="dim"), soft_wrap=False)

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


def _scope(request: CallRequest) -> tuple[str, str]:
    """What 'yes' for the session covers: as a key, and in words."""
    if request.effect is Effect.WRITE and not request.requires_approval:
        return request.tool_name, f"yes to every {visible(request.tool_name)}"
    call = json.dumps([request.tool_name, request.args], sort_keys=True, default=repr)
    return call, "yes to exactly this call"
