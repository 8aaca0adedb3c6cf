"""The sink for a person: the answer on stdout, everything else on stderr.

Which text of the model is its answer shows only in hindsight: text followed by calls was commentary. A
terminal sees text at once, as it streams. Without one, stdout gets the answer once, at the end, and
commentary goes to stderr.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Literal, TextIO, TypeVar

import anyio
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from ...nodes import events as ev
from ...nodes.outcome import Outcome, TurnResult
from ...nodes.slots import CallStatus
from . import wording
from .terminal import encodable, plain, visible
from .throttle import INTERVAL, Throttle

T = TypeVar("T")

_COLOURS = {
    CallStatus.OK: "green",
    CallStatus.ERROR: "red",
    CallStatus.REFUSED: "yellow",
    CallStatus.CANCELLED: "yellow",
    CallStatus.UNKNOWN: "red",
}


class ConsoleSink:
    """Shows turns. `answer=False` keeps the answer off stdout, for when a document goes there; `prompts`
    shows what the person had said, for when it is not on the screen anyway."""

    def __init__(
        self,
        stdout: TextIO,
        stderr: TextIO,
        *,
        quiet: bool = False,
        answer: bool = True,
        prompts: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out = stdout
        self._stderr = stderr
        self._err = Console(file=stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)
        self._quiet = quiet
        self._answer = answer
        self._prompts = prompts
        self._streams = answer and not quiet and not prompts and stdout.isatty()
        self._separator = " · " if encodable("·", stderr) else ", "
        self._ellipsis = "…" if encodable("…", stderr) else "..."
        self._text = Throttle(self._write_text, clock=clock)
        self._thinking = Throttle(self._write_thinking, clock=clock)
        self._reply: list[str] = []
        self._reply_is_over = False
        self._mid_line: Literal["text", "thinking"] | None = None

    async def emit(self, event: ev.Event) -> None:
        match event:
            case ev.TurnStarted(prompt=prompt):
                self.finish()
                if self._prompts:
                    self._line(Text(f"> {plain(prompt.rstrip())}", style="bold"))
            case ev.TextDelta(text):
                self._thinking.flush()
                if self._reply_is_over:
                    self._comment()
                self._reply.append(text)
                if self._streams:
                    self._text.add(text)
            case ev.ThinkingDelta(text):
                self._text.flush()
                if self._err.is_terminal and not self._quiet:
                    self._thinking.add(text)
            case ev.NodeEntered():
                self._reply_is_over = True
            case ev.ToolCalled():
                self._comment()
            case ev.ToolProgress(name=name, text=text):
                if self._err.is_terminal:
                    self._line(Text(f"  {visible(name)} | {visible(text.rstrip())}", style="dim"))
            case ev.ToolFinished():
                self._finished(event)
            case ev.Notice(level, text):
                word = "note" if level == "info" else "warning"
                self._line(Text(f"turngraph: {word}: {visible(text)}", style="dim" if level == "info" else "yellow"))
            case ev.TurnEnded(result):
                self._end(result)
            case ev.ApprovalAsked():
                self.settle()
            case _:
                return

    async def fresh_while(self, turn: Awaitable[T]) -> T:
        """Wait for a turn; text that waits is shown in time although nothing new comes."""
        done: list[T] = []
        failed: list[Exception] = []
        async with anyio.create_task_group() as group:
            group.start_soon(self._keep_fresh)
            try:
                done.append(await turn)
            except Exception as error:
                # The group would wrap it, and the caller could not tell our errors apart.
                failed.append(error)
            group.cancel_scope.cancel()
        if failed:
            raise failed[0]
        return done[0]

    async def _keep_fresh(self) -> None:
        while True:
            await anyio.sleep(INTERVAL)
            self._text.flush_if_due()
            self._thinking.flush_if_due()

    def finish(self) -> None:
        """Show what a turn without an end leaves unsaid."""
        self._comment()

    def settle(self) -> None:
        """Show all that waits and end the line it stands on, so that something else may be written."""
        self._thinking.flush()
        self._text.flush()
        self._end_line()

    def _write_text(self, text: str) -> None:
        if self._mid_line == "thinking":
            self._end_line()
        self._out.write(plain(text))
        self._out.flush()
        self._mid_line = None if text.endswith("\n") else "text"

    def _write_thinking(self, text: str) -> None:
        if self._mid_line == "text":
            self._end_line()
        self._err.print(Text(plain(text), style="dim"), end="")
        self._mid_line = None if text.endswith("\n") else "thinking"

    def _end_line(self) -> None:
        if self._mid_line is not None:
            stream = self._out if self._mid_line == "text" else self._stderr
            stream.write("\n")
            stream.flush()
            self._mid_line = None

    def _line(self, text: Text, *, even_if_quiet: bool = False) -> None:
        self.settle()
        if even_if_quiet or not self._quiet:
            self._err.print(text)

    def _comment(self) -> None:
        """The reply's text was no answer: without a terminal it has not been shown yet."""
        text = "".join(self._reply).strip()
        self._reply.clear()
        self._reply_is_over = False
        if text and not self._streams:
            self._line(Text(plain(text), style="dim"))
        self.settle()

    def _finished(self, event: ev.ToolFinished) -> None:
        status = event.status
        facts = [status.value]
        if status is CallStatus.OK:
            facts.append(wording.size(event))
        facts.append(wording.duration(event.duration_ms))
        head = f"  {visible(event.name)} {wording.short_arguments(event.args)}".rstrip()
        tail = "".join(f"  {fact}" for fact in facts)
        if self._err.is_terminal:
            head = self._fit(head, self._err.width - len(tail))
        line = Text(head)
        line.append(f"  {status.value}", style=_COLOURS[status])
        line.append(tail[len(status.value) + 2 :], style="dim")
        self._line(line)
        if status is not CallStatus.OK:
            self._line(Text(f"    {wording.reason(event.result)}", style=_COLOURS[status]))

    def _fit(self, text: str, width: int) -> str:
        if cell_len(text) <= width:
            return text
        return set_cell_size(text, max(width - cell_len(self._ellipsis), 0)) + self._ellipsis

    def _end(self, result: TurnResult) -> None:
        shown = "".join(self._reply) if self._streams else ""
        if self._answer and result.answer and result.answer.strip() != shown.strip():
            self.settle()
            self._write_text(result.answer.rstrip("\n") + "\n")
        elif not result.answer:
            self._comment()
        self._reply.clear()
        self.settle()
        if result.error is not None:
            self._line(Text(f"turngraph: {visible(result.error)}", style="red"), even_if_quiet=True)
        if not result.saved:
            self._line(Text("turngraph: the end of this turn could not be saved", style="red"), even_if_quiet=True)
        style = "dim" if result.outcome is Outcome.COMPLETED else "yellow"
        self._line(Text(self._separator.join(wording.summary(result)), style=style))
