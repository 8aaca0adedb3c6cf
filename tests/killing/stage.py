"""A place for turns that are killed: a store, a file of effects, a model server, and processes that run the turns."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelResponse
from turngraph.flows.store import IntentBody, MessageBody, Record, ResultBody, Store
from turngraph.tools.effects import Effect

from .job import Job, Report
from .server import SteadyServer

ROOT = Path(__file__).parents[2]


class Forker:
    """The process that forks the others."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, job: Job) -> int:
        """The id of a new process that does the job."""
        return self._ask({"fork": asdict(job)})

    def wait(self, *pids: int) -> tuple[int, Left]:
        """Wait until one of these processes has ended, or was stopped; which, and how."""
        pid, status = self._ask({"wait": pids})
        return pid, Left(status)

    def _ask(self, command: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(command)}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the process that forks is gone, asked for {command}"
        return json.loads(answer)


@dataclass(frozen=True)
class Left:
    """How a process was left, as its wait status tells."""

    status: int

    @property
    def code(self) -> int | None:
        """The exit code; `None` of a process that was killed, or is stopped."""
        return os.waitstatus_to_exitcode(self.status) if os.WIFEXITED(self.status) else None

    @property
    def killed(self) -> bool:
        return os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL

    @property
    def stopped(self) -> bool:
        return os.WIFSTOPPED(self.status)


@contextmanager
def forking() -> Generator[Forker]:
    """Start the process that forks the others; it goes, with all that is left of them, at the end of the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.killing.driver"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        try:
            yield Forker(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


class Stage:
    """One store with what belongs to it; a `copy` is as the whole is now, and goes its own way."""

    def __init__(self, folder: Path, forker: Forker, server: SteadyServer) -> None:
        self.folder = folder
        self.store_path = folder / "data" / "store.db"
        self.server = server
        self._forker = forker
        self._count = 0
        folder.mkdir(exist_ok=True)

    def copy(self, name: str) -> Stage:
        shutil.copytree(self.folder, self.folder.with_name(name))
        return Stage(self.folder.with_name(name), self._forker, self.server)

    def store(self) -> Store:
        return Store.open(self.store_path)

    def job(self, **how: Any) -> Job:
        self._count += 1
        report = str(self.folder / f"report-{self._count}")
        job = Job(folder=str(self.folder), store=str(self.store_path), base_url=self.server.base_url, report=report)
        return replace(job, **how)

    def start(self, job: Job) -> int:
        return self._forker.start(job)

    def wait(self, pid: int) -> Left:
        return self._forker.wait(pid)[1]

    def first_of(self, *pids: int) -> tuple[int, Left]:
        """The first of some processes that ends, or stops, and how."""
        return self._forker.wait(*pids)

    def do(self, **how: Any) -> tuple[Left, Report | None]:
        """Run a job to its end, whatever that is."""
        job = self.job(**how)
        left = self.wait(self.start(job))
        return left, report_of(job)

    def finish(self, **how: Any) -> Report:
        """Run a job that comes to an end of its own."""
        job = self.job(**how)
        left = self.wait(self.start(job))
        report = report_of(job)
        assert report is not None, (left, said_by(job))
        assert left.code is not None
        return report

    @property
    def begun(self) -> Counter[tuple[str, int]]:
        """How often each call began, as its effects tell."""
        return Counter((name, n) for what, name, n, _ in self.effects if what == "begin")

    @property
    def effects(self) -> list[tuple[str, str, int, int]]:
        """The effects that the tools left, in their order: what, the tool, its number, and the process."""
        file = self.folder / "effects"
        lines = file.read_text().splitlines() if file.exists() else []
        return [(what, name, int(n), int(pid)) for what, name, n, pid in map(str.split, lines)]

    def assert_nothing_twice(self) -> None:
        """No call that may change something began twice, in whatever process."""
        assert {call: times for call, times in self.begun.items() if call[0] != "look" and times > 1} == {}


def report_of(job: Job) -> Report | None:
    """What a process said about its turn; `None` where it came to no end."""
    try:
        return Report(**json.loads(Path(job.report).read_text()))
    except FileNotFoundError:
        return None


def said_by(job: Job) -> str:
    return Path(f"{job.report}.err").read_text()


def replies_in(journal: list[Record]) -> int:
    """How many replies of the model are safe."""
    return sum(
        isinstance(body, MessageBody) and isinstance(body.message, ModelResponse) and body.replaces is None
        for body in (record.body for record in journal)
    )


def under_way(journal: list[Record]) -> set[str]:
    """The ids of the calls that may change something, that had begun and had no result."""
    begun: dict[tuple[int, int], str] = {}
    for record in journal:
        if isinstance(record.body, IntentBody) and record.body.effect is not Effect.READ_ONLY:
            begun[record.iteration, record.body.position] = record.body.call_id
        elif isinstance(record.body, ResultBody):
            begun.pop((record.iteration, record.body.position), None)
    return set(begun.values())


def calls_begun(journal: list[Record]) -> set[str]:
    """The ids of the calls that may change something and had begun."""
    bodies = (record.body for record in journal)
    return {body.call_id for body in bodies if isinstance(body, IntentBody) and body.effect is not Effect.READ_ONLY}
