"""One turn for the command line, whatever begins it: who plays, what is shown, signals and questions."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import anyio
from pydantic_ai.models import Model

from ...nodes.events import Event, Notice, Sink, TurnEnded, TurnStarted
from ...nodes.outcome import Outcome, TurnResult
from ...tools.policy import AskFirst, Auto, Policy, ReadOnly
from ...tools.wording import count
from ..asked import Asked, PolicyName
from ..interrupt import Interrupt
from ..models import OFFLINE
from ..sinks import JsonlSink, Tee
from . import signals
from .answer_file import AnswerFile
from .casting import Cast, casting
from .console import ConsoleSink
from .document import DocumentSink
from .logs import log_to
from .options import CacheMode, Shown
from .question import Question, keyboard
from .terminal import visible

_OFFLINE = (
    "no language model is configured, so the offline router answered by rules; "
    "choose a model with --model openai:NAME, TURNGRAPH_MODEL or the settings file"
)


@dataclass(frozen=True, kw_only=True)
class Staged:
    """What a turn runs with, open and listening."""

    cast: Cast
    sink: Sink
    policy: Policy
    interrupt: Interrupt


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A turn that can be performed; `begin` runs it, and `notes` and `warnings` are told at its beginning."""

    asked: Asked
    workdir: Path
    begin: Callable[[Staged], Awaitable[TurnResult]]
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    model_cache: tuple[CacheMode, Path] | None = None


def listen_to_debug(shown: Shown) -> None:
    """Write the detailed log to stderr, where that was asked for."""
    if shown.debug:
        log_to(sys.stderr, os.environ)


def perform(plan: Plan, shown: Shown) -> int:
    """Run a turn, show it, and return its exit code.

    Raises:
        TurngraphError: nothing ran: a wrong setting, model or session, a busy session, a broken store.
    """
    return anyio.run(_perform, plan, shown)


async def _perform(plan: Plan, shown: Shown) -> int:
    console = _console(plan.asked, shown)
    document = DocumentSink()
    interrupt = Interrupt()
    sink = _sink(shown, console, document)
    with keyboard() if plan.asked.policy == "ask" else nullcontext() as fd:
        question = None if fd is None else Question(fd, sys.stderr, console.paused, plan.workdir)
        signals.listen(_Stop(interrupt, question))
        try:
            result = await console.fresh_while(_turn(plan, sink, question, interrupt))
        except Exception:
            signals.listen(None)
            raise
    if shown.output == "json":
        sys.stdout.write(json.dumps(document.document(result)) + "\n")
    sys.stdout.flush()
    code = result.outcome.exit_code
    if shown.answer_file is not None and not _keep(result, shown.answer_file, quiet=shown.quiet):
        code = code or 1
    signals.leave_with(code)
    return code


def _console(asked: Asked, shown: Shown) -> ConsoleSink:
    return ConsoleSink(
        sys.stdout,
        sys.stderr,
        quiet=shown.quiet,
        answer=shown.output == "text",
        thinking=shown.thinking,
        verbose=shown.verbose,
        # What the router found is text as it is, not Markdown.
        markdown=asked.model != OFFLINE or asked.agent is not None,
    )


def _keep(result: TurnResult, file: AnswerFile, *, quiet: bool) -> bool:
    """Write the answer to its file; false if that failed. Without a whole answer the file stays as it is."""
    if not result.answer or result.outcome is Outcome.NO_ANSWER:
        if not quiet:
            print(f"turngraph: there is no answer, so {visible(str(file.path))} is as it was", file=sys.stderr)
        return True
    try:
        file.write(result.answer)
    except OSError as error:
        print(f"turngraph: {visible(str(file.path))} could not be written: {error.strerror}", file=sys.stderr)
        return False
    return True


async def _turn(plan: Plan, sink: Sink, question: Question | None, interrupt: Interrupt) -> TurnResult:
    skipped: list[str] = []

    def wrap(model: Model) -> Model:
        if plan.model_cache is None:
            return model
        from ..model_cache.wrapper import CachedModel

        cached = CachedModel(model, *plan.model_cache)
        if cached.skipped and not skipped:
            skipped.append(f"{count(cached.skipped, 'damaged line')} of {plan.model_cache[1]} left out")
        return cached

    async with casting(plan.asked, plan.workdir, wrap) as cast:
        telling = _Telling(
            sink,
            [*plan.notes, *cast.differences],
            [*plan.warnings, *skipped],
            offline=cast.offline,
        )
        policy = _policy(plan.asked.policy, question)
        return await plan.begin(Staged(cast=cast, sink=telling, policy=policy, interrupt=interrupt))


def _sink(shown: Shown, console: ConsoleSink, document: DocumentSink) -> Sink:
    match shown.output:
        case "text":
            return console
        case "json":
            return Tee(document, console)
        case "jsonl":
            return Tee(JsonlSink(sys.stdout), console)


class _Telling:
    """Adds to a turn's events what the command line knows: notices about the prompt, and who answered."""

    def __init__(self, sink: Sink, notes: Sequence[str], warnings: Sequence[str], *, offline: bool) -> None:
        self._sink = sink
        self._notices = [*(Notice("info", text) for text in notes), *(Notice("warning", text) for text in warnings)]
        self._offline = offline

    async def emit(self, event: Event) -> None:
        if self._offline and isinstance(event, TurnEnded) and event.result.outcome is Outcome.COMPLETED:
            await self._sink.emit(Notice("info", _OFFLINE))
        await self._sink.emit(event)
        if isinstance(event, TurnStarted):
            for notice in self._notices:
                await self._sink.emit(notice)


def _policy(name: PolicyName, question: Question | None) -> Policy:
    match name:
        case "read-only":
            return ReadOnly()
        case "auto":
            return Auto()
        case "ask":
            return AskFirst(None if question is None else question.ask)


class _Stop:
    """The first signal ends the turn in order, the second is told to wait, the third ends the process."""

    def __init__(self, interrupt: Interrupt, question: Question | None) -> None:
        self._interrupt = interrupt
        self._question = question
        self._loop = asyncio.get_running_loop()
        self._count = 0

    def __call__(self, number: int) -> None:
        self._count += 1
        if self._count == 1:
            self._loop.call_soon_threadsafe(self._stop, number)
        elif self._count == 2:
            signals.say("finishing and saving the turn; a third signal quits at once, unsaved")
        else:
            signals.quit_now(number)

    def _stop(self, number: int) -> None:
        if number != signal.SIGINT:
            self._interrupt.fire(Outcome.TERMINATED)
        elif self._question is None or not self._question.abort():
            self._interrupt.fire(Outcome.INTERRUPTED)
