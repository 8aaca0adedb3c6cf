"""The sink for a person: the answer on stdout, everything else on stderr.

Which text of the model is its answer shows only in hindsight: text followed by calls was commentary. A
terminal sees text at once, as it streams. Without one, stdout gets the answer once, at the end, and
commentary goes to stderr.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Literal, TextIO, TypeVar

import anyio
from rich.text import Text

from ...nodes import events as ev
from ...nodes.outcome import Outcome, TurnResult
from . import wording
from .activity import Activity
from .calls import finished_lines, label
from .paper import RawPaper, console_on, paper_for
from .terminal import encodable, plain, visible
from .throttle import INTERVAL, Throttle

T = TypeVar("T")
Thinking = Literal["hide", "fold", "show"]

_THOUGHT = "thought"
_NOTICES = {"info": ("note", "dim"), "warning": ("warning", "magenta")}


class ConsoleSink:
    """Shows turns.

    `answer=False` keeps the answer off stdout, for when a document goes there; `prompts` shows what the person had
    said, for when it is not on the screen anyway; `thinking` is left out, told in one line on a terminal, or shown;
    `verbose` shows the beginning of each result; `markdown=False` shows an answer as it was written everywhere.
    """

    def __init__(
        self,
        stdout: TextIO,
        stderr: TextIO,
        *,
        quiet: bool = False,
        answer: bool = True,
        prompts: bool = False,
        thinking: Thinking = "fold",
        verbose: bool = False,
        markdown: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._err = console_on(stderr)
        self._quiet = quiet
        self._answer = answer
        self._prompts = prompts
        self._show_thinking = thinking == "show" and not quiet
        self._fold_thinking = thinking == "fold" and not quiet and stderr.isatty()
        self._verbose = verbose
        self._streams = answer and not quiet and not prompts and stdout.isatty()
        self._separator = " · " if encodable("·", stderr) else ", "
        self._paper = paper_for(stdout, console_on(stdout), markdown=markdown)
        self._margin = RawPaper(stderr, self._err)
        self._text = Throttle(self._write_text, clock=clock)
        self._thinking = Throttle(self._write_thinking, clock=clock)
        can_redraw = stderr.isatty() and not self._err.is_dumb_terminal and not quiet and not prompts
        self._activity = Activity(stderr if can_redraw else None, clock)
        self._labels: dict[str, str] = {}
        self._reply: list[str] = []
        self._reply_is_over = False
        self._held: list[ev.Event] | None = None

    async def emit(self, event: ev.Event) -> None:
        if self._held is None:
            self._show(event)
        else:
            self._held.append(event)

    def _show(self, event: ev.Event) -> None:
        if not isinstance(event, ev.ThinkingDelta):
            self._end_thought()
        match event:
            case ev.TurnStarted(prompt=prompt):
                self.finish()
                if self._prompts:
                    self._line(Text(f"> {plain(prompt.rstrip())}", style="bold"))
            case ev.TextDelta(text):
                if self._reply_is_over:
                    self._comment()
                self._reply.append(text)
                if self._streams:
                    self._text.add(text)
            case ev.ThinkingDelta(text):
                self._think(text)
            case ev.NodeEntered():
                self._reply_is_over = True
            case ev.ToolCalled(call_id, name, args):
                self._comment()
                self._labels[call_id] = label(name, args)
            case ev.ToolStarted(call_id, name):
                self._activity.begin(call_id, self._labels.pop(call_id, visible(name)))
            case ev.ToolProgress(call_id, text=text):
                self._activity.tell(call_id, visible(text.rstrip()))
            case ev.ToolFinished(call_id):
                self._activity.end(call_id)
                for line in finished_lines(event, self._err, verbose=self._verbose):
                    self._line(line)
            case ev.Notice(level, text):
                word, style = _NOTICES[level]
                self._line(Text(f"turngraph: {word}: {visible(text)}", style=style))
            case ev.TurnEnded(result):
                self._end(result)
            case ev.ApprovalAsked():
                self.settle()
            case _:
                return

    async def fresh_while(self, turn: Awaitable[T]) -> T:
        """Wait for a turn; text that waits is shown in time although nothing new comes, and clocks go on."""
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
        self._activity.hide()
        if failed:
            raise failed[0]
        return done[0]

    async def _keep_fresh(self) -> None:
        while True:
            await anyio.sleep(INTERVAL)
            if self._held is None:
                self._text.flush_if_due()
                self._thinking.flush_if_due()
                self._activity.draw()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Leave the screen to someone else meanwhile; what happens is shown afterwards."""
        self.settle()
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            for event in held:
                self._show(event)

    def finish(self) -> None:
        """Show what a turn without an end leaves unsaid."""
        self._comment()

    def settle(self) -> None:
        """Show all that waits and end the line it stands on, so that something else may be written."""
        self._thinking.flush()
        self._text.flush()
        self._activity.hide()
        self._margin.settle()
        self._paper.settle()

    def _write_text(self, text: str) -> None:
        self._activity.hide()
        self._margin.settle()
        self._paper.add(text)

    def _write_thinking(self, text: str) -> None:
        self._activity.hide()
        self._paper.settle()
        self._margin.add(text)

    def _think(self, text: str) -> None:
        if self._show_thinking:
            self._text.flush()
            self._thinking.add(text)
        elif self._fold_thinking:
            self.settle()
            self._activity.begin(_THOUGHT, "thinking")

    def _end_thought(self) -> None:
        """The model goes on to something else than thinking."""
        self._thinking.flush()
        spent = self._activity.end(_THOUGHT)
        if spent is not None:
            self._line(Text(f"  thought for {spent:.1f} s", style="dim"))

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
        style = "dim" if result.outcome is Outcome.COMPLETED else "magenta"
        self._line(Text(self._separator.join(wording.summary(result)), style=style))
