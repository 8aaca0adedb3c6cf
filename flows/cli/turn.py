"""One turn for the command line: settings, model, session, sinks and signals brought together."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext

import anyio

from ...nodes.deps import Limits
from ...nodes.errors import UsageError
from ...nodes.events import Event, Notice, Sink, TurnEnded, TurnStarted
from ...nodes.outcome import Outcome, TurnResult
from ...tools.policy import AskFirst, Auto, Policy, ReadOnly
from ..interrupt import Interrupt
from ..models import OFFLINE
from ..runner import run_turn
from ..settings import Resolved, Settings, resolve_settings
from ..sinks import JsonlSink, Tee
from ..store import Store
from . import signals
from .answer_file import AnswerFile
from .casting import casting
from .console import ConsoleSink
from .document import DocumentSink
from .logs import log_to
from .question import Question, keyboard
from .run import RunOptions
from .terminal import visible

_OFFLINE = (
    "no language model is configured, so the offline router answered by rules; "
    "choose a model with --model openai:NAME, TURNGRAPH_MODEL or the settings file"
)


def run_once(options: RunOptions) -> int:
    """Run one turn, show it, and return its exit code.

    Raises:
        TurngraphError: nothing ran: a wrong setting, model or session, a busy session, a broken store.
    """
    if options.debug:
        log_to(sys.stderr, os.environ)
    resolved = resolve_settings(
        {
            "model": options.model,
            "base_url": options.base_url,
            "policy": options.policy,
            "max_iterations": options.max_iterations,
            "max_tokens": options.max_tokens,
            "max_total_tokens": options.max_total_tokens,
            "max_cost": options.max_cost,
            "timeout": options.timeout,
            "flow": options.flow,
        },
        os.environ,
        options.workdir,
    )
    with Store.open(resolved.settings.store) as store:
        session = _session(store, options)
        return anyio.run(_perform, options, resolved, store, session)


def _session(store: Store, options: RunOptions) -> str | None:
    if options.session is not None:
        return store.find_session(options.session)
    if not options.continue_:
        return None
    latest = store.latest_session(str(options.workdir))
    if latest is None:
        raise UsageError(f"there is no session in {options.workdir} to continue; leave --continue off")
    return latest


async def _perform(options: RunOptions, resolved: Resolved, store: Store, session: str | None) -> int:
    console = _console(options, resolved.settings)
    document = DocumentSink()
    interrupt = Interrupt()
    sink = _sink(options, console, document)
    with keyboard() if resolved.settings.policy == "ask" else nullcontext() as fd:
        question = None if fd is None else Question(fd, sys.stderr, console.paused, options.workdir)
        signals.listen(_Stop(interrupt, question))
        try:
            result = await console.fresh_while(_turn(options, resolved, store, session, sink, question, interrupt))
        except Exception:
            signals.listen(None)
            raise
    if options.output == "json":
        sys.stdout.write(json.dumps(document.document(result)) + "\n")
    sys.stdout.flush()
    code = result.outcome.exit_code
    if options.output_file is not None and not _keep(result, options.output_file, quiet=options.quiet):
        code = code or 1
    signals.leave_with(code)
    return code


def _console(options: RunOptions, settings: Settings) -> ConsoleSink:
    return ConsoleSink(
        sys.stdout,
        sys.stderr,
        quiet=options.quiet,
        answer=options.output == "text",
        thinking=options.thinking,
        verbose=options.verbose,
        # What the router found is text as it is, not Markdown.
        markdown=settings.model != OFFLINE or options.agent is not None,
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


async def _turn(
    options: RunOptions,
    resolved: Resolved,
    store: Store,
    session: str | None,
    sink: Sink,
    question: Question | None,
    interrupt: Interrupt,
) -> TurnResult:
    settings = resolved.settings
    async with casting(options, resolved) as cast:
        return await run_turn(
            options.prompt.text,
            model=cast.model,
            toolsets=cast.toolsets,
            flow=cast.flow,
            sink=_Telling(
                sink,
                [*options.prompt.notes, *cast.differences],
                [*options.prompt.warnings, *resolved.notices, *cast.notices],
                offline=cast.offline,
            ),
            store=store,
            session=session,
            policy=_policy(settings, question),
            limits=Limits(
                max_iterations=settings.max_iterations,
                max_tokens=settings.max_tokens,
                max_total_tokens=settings.max_total_tokens,
                max_cost=settings.max_cost,
                timeout=settings.timeout,
            ),
            instructions=cast.instructions,
            workdir=options.workdir,
            interrupt=interrupt,
            debug=options.debug,
        )


def _sink(options: RunOptions, console: ConsoleSink, document: DocumentSink) -> Sink:
    match options.output:
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


def _policy(settings: Settings, question: Question | None) -> Policy:
    match settings.policy:
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
