"""Forks processes that run one turn each: `python -m tests.killing.driver` reads commands from its standard input.

`{"fork": JOB}` answers with the process id of a child that does the job, `{"wait": [PID, ...]}` with the id and the
wait status of the first of these children that has ended or stopped. All is imported before the first fork, so a child
costs little and is still a process of its own, that can be killed as such. At the end of the input every child that is
left is killed.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import anyio
from pydantic_ai.messages import ToolReturn
from pydantic_ai.toolsets import FunctionToolset
from turngraph.flows.cli import main as command_line
from turngraph.flows.models import create_model
from turngraph.flows.resume import resume_turn
from turngraph.flows.runner import run_turn
from turngraph.flows.store import Store
from turngraph.nodes.deps import Limits
from turngraph.nodes.errors import TurngraphError
from turngraph.nodes.events import Event, Notice
from turngraph.tools.effects import Effect, declare
from turngraph.tools.policy import Allow, CallRequest, Decision, Refuse

from ..scripted.server import ScriptedServer
from .job import Job, Report
from .points import Points
from .story import story

WHOLE = 0.002
"""Seconds that a call takes, so that calls side by side overlap."""
LONGEST_SECONDS = 120


class Picky:
    """Refuses one tool, and lets the others run unasked."""

    def asks(self, request: CallRequest) -> bool:
        return False

    async def decide(self, request: CallRequest) -> Decision:
        return Refuse("nobody may") if request.tool_name == "forbidden" else Allow()


class Heard:
    """Keeps the warnings for a person."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    async def emit(self, event: Event) -> None:
        if isinstance(event, Notice) and event.level == "warning":
            self.warnings.append(event.text)


def toolset(job: Job, points: Points) -> FunctionToolset[Any]:
    """Tools whose effects are lines of a file that the store knows nothing of."""
    descriptor = os.open(job.effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def note(what: str, name: str, n: int) -> None:
        os.write(descriptor, f"{what} {name} {n} {os.getpid()}\n".encode())
        os.fsync(descriptor)

    async def act(name: str, n: int) -> None:
        note("begin", name, n)
        points.reach(f"middle:execute:{name}")
        await anyio.sleep(WHOLE)
        points.reach(f"middle:execute:{name}")
        note("end", name, n)

    async def look(n: int) -> str:
        await act("look", n)
        return f"saw {n}"

    async def change(n: int) -> ToolReturn[str]:
        await act("change", n)
        return ToolReturn(f"changed {n}", metadata={"edited": [f"{n}.txt"]})

    async def run(n: int) -> str:
        await act("run", n)
        return f"ran {n}"

    async def forbidden(n: int) -> str:
        await act("forbidden", n)
        return f"did {n}"

    found = FunctionToolset[Any]()
    found.add_function(look, metadata=declare(Effect.READ_ONLY))
    found.add_function(change, metadata=declare(Effect.WRITE))
    found.add_function(run, metadata=declare(Effect.EXECUTE))
    found.add_function(forbidden, metadata=declare(Effect.WRITE))
    return found


async def play(job: Job, points: Points) -> tuple[Report, int]:
    """Begin or resume the job's turn; how it ended, and the exit code."""
    heard = Heard()
    try:
        with Store.open(Path(job.store), lease=timedelta(seconds=job.lease)) as store:
            how: dict[str, Any] = {
                "store": store,
                "model": create_model("openai:scripted", base_url=job.base_url),
                "toolsets": [toolset(job, points)],
                "policy": Picky(),
                "sink": heard,
            }
            if job.turn is not None:
                result = await resume_turn(job.turn, **how)
            else:
                limits = Limits(max_iterations=job.max_iterations)
                place = {"session": job.session, "workdir": Path(job.folder)}
                result = await run_turn(job.prompt, limits=limits, **place, **how)
    except TurngraphError as error:
        return Report(outcome=error.outcome, error=str(error)), error.outcome.exit_code
    report = Report(
        outcome=result.outcome,
        error=result.error,
        answer=result.answer,
        iterations=result.iterations,
        usage={name: value for name, value in vars(result.usage).items() if value},
        edited_files=result.edited_files,
        saved=result.saved,
        passed=dict(points.passed),
        warnings=heard.warnings,
    )
    return report, result.outcome.exit_code


def child(job: Job) -> NoReturn:
    """Do a job and leave, whatever happens."""
    code = 1
    try:
        os.setsid()
        signal.alarm(LONGEST_SECONDS)
        for number, name in ((0, os.devnull), (1, f"{job.report}.out"), (2, f"{job.report}.err")):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(name, flags, 0o666), number)
        if job.uid is not None:
            os.setuid(job.uid)
        points = Points(job.at, job.nth, job.then, Path(job.store))
        points.install()
        if job.argv:
            os.environ.update(job.env)
            os.chdir(job.folder)
            command_line(job.argv)
        report, code = anyio.run(play, job, points)
        Path(job.report).write_text(json.dumps(asdict(report)))
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


async def rehearse() -> None:
    """Run one turn before the first fork, so that no child has to load and build what each of them needs."""
    replies = story(0)
    with TemporaryDirectory() as folder:
        async with ScriptedServer(*replies).listening() as server:
            job = Job(folder=folder, store=f"{folder}/store.db", base_url=server.base_url, report=f"{folder}/report")
            report, _ = await play(job, Points("", 0, "", Path(job.store)))
            assert report.saved, report


def wait_for(pids: Sequence[int]) -> tuple[int, int]:
    while True:
        for pid in pids:
            found, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
            if found:
                return found, status
        time.sleep(0.002)


def main() -> None:
    import_module("turngraph.flows.cli.app")
    import_module("turngraph.flows.cli.turn")
    anyio.run(rehearse)
    gc.freeze()
    children = set[int]()
    try:
        for line in sys.stdin:
            command = json.loads(line)
            if "fork" in command:
                answer = os.fork()
                if answer == 0:
                    child(Job(**command["fork"]))
                children.add(answer)
            else:
                pid, status = wait_for(command["wait"])
                if not os.WIFSTOPPED(status):
                    children.discard(pid)
                answer = [pid, status]
            print(json.dumps(answer), flush=True)
    finally:
        for pid in children:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
