"""Run git so that it obeys nobody's configuration: no hook, filter, monitor or remote of a repository is started."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile

import anyio

from ...nodes.errors import TurngraphError

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "core.bigFileThreshold=32m",
    "pack.compression=1",
    "gc.auto=0",
    "maintenance.auto=false",
)
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_AUTHOR_DATE": "@0 +0000",
    "GIT_AUTHOR_EMAIL": "",
    "GIT_AUTHOR_NAME": "turngraph",
    "GIT_COMMITTER_DATE": "@0 +0000",
    "GIT_COMMITTER_EMAIL": "",
    "GIT_COMMITTER_NAME": "turngraph",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class TreeError(TurngraphError):
    """The files of a workspace could not be recorded or restored."""


@dataclass(frozen=True)
class Git:
    """A git directory, where git is run, and what it is told beside: settings and variables."""

    directory: Path
    cwd: Path
    settings: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str])

    def on(self, work_tree: Path, index: Path, **variables: str) -> Git:
        """The same with a work tree and an index file of its own."""
        told = {"GIT_WORK_TREE": str(work_tree), "GIT_INDEX_FILE": str(index), **variables}
        return replace(self, cwd=work_tree, variables={**self.variables, **told})

    async def run(self, *arguments: str | Path, lines: bytes = b"") -> bytes:
        """Run a git command with `lines` on its stdin; returns what it prints.

        Raises:
            TreeError: it failed, with git's own last line.
        """
        return (await self.heard(*arguments, lines=lines))[0]

    async def heard(self, *arguments: str | Path, lines: bytes = b"") -> tuple[bytes, list[str]]:
        """The same, with the lines of its stderr, where git warns of what it passes over."""
        done = await self.attempt(*arguments, lines=lines)
        told = done.stderr.decode(errors="backslashreplace").strip().splitlines()
        if done.returncode:
            raise TreeError(f"git {arguments[0]} said: {told[-1] if told else f'exit code {done.returncode}'}")
        return done.stdout, told

    async def attempt(self, *arguments: str | Path, lines: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run a git command that may fail; a cancellation kills it."""
        settings = [word for setting in (*_SETTINGS, *self.settings) for word in ("-c", setting)]
        command = [program(), *settings, *map(str, arguments)]
        with TemporaryFile() as given:
            given.write(lines)
            given.seek(0)
            return await anyio.run_process(
                command,
                stdin=given,
                check=False,
                cwd=self.cwd,
                env={**_inherited(), **_ENVIRONMENT, "GIT_DIR": str(self.directory), **self.variables},
                start_new_session=True,
            )


def program() -> str:
    """The path of git.

    Raises:
        TreeError: it is not installed.
    """
    if found := shutil.which("git"):
        return str(Path(found).absolute())
    raise TreeError("git is not installed; install it to keep the files of a workspace.")


@contextmanager
def time_limit(seconds: float, what: str) -> Generator[None]:
    """Give what follows some seconds together.

    Raises:
        TreeError: the time was up; `what` begins the sentence.
    """
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError:
        raise TreeError(f"{what} within {seconds:g} s; let .gitignore leave out what is large.") from None


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
