"""Importing what a person typed: `module:Name` of what is installed, or `path/to/file.py:Name`."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ..nodes.errors import UsageError

_FILE = ".py:"


def is_place(text: str) -> bool:
    """Whether a text has the form of a place to import from."""
    return ":" in text


def split_place(text: str) -> tuple[str, str, str | None]:
    """The module or file, the name in it, and what follows after another colon."""
    if _FILE in text:
        module, _, rest = text.partition(_FILE)
        module += ".py"
    else:
        module, _, rest = text.partition(":")
    name, colon, argument = rest.partition(":")
    return module, name, argument if colon else None


def load(module: str, name: str) -> Any:
    """The object that a module, or a file whose path ends in `.py`, holds under a name, dots allowed.

    A module is looked for among what is installed and on PYTHONPATH. The working directory counts only when it is
    named there, or in a file's path: whoever wrote a repository does not decide what runs in it.

    Raises:
        UsageError: it cannot be found, it raised when it was imported, or it has no such name.
    """
    with redirect_stdout(sys.stderr):  # stdout carries the answer, whatever a module prints
        found: Any = _file(Path(module)) if module.endswith(".py") else _module(module)
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise UsageError(f"{module} has no {name!r}; it has {_classes(found)}") from None
    return found


def _module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{name!r} is no name of a module; write module:Class, or path/to/file.py:Class")
    with _without_working_directory():
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
                raise UsageError(f"there is no module {error.name}; {_advice(name)}") from error
            raise UsageError(f"{name} cannot be imported: {error}; install what it needs") from error
        except (Exception, SystemExit) as error:
            raise _raised(name, error) from error


def _file(path: Path) -> ModuleType:
    """Run a file as a module of its own; its name is its whole path, so that it can hide no other module."""
    path = path.expanduser().absolute()
    name = str(path)
    if name in sys.modules:
        return sys.modules[name]
    if not path.is_file():
        raise UsageError(f"there is no file {path}; name one that holds the class")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} cannot be imported: it is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _without_working_directory():
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            raise _raised(name, error) from error
    return module


def _raised(name: str, error: BaseException) -> UsageError:
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    return UsageError(f"{name} raised when it was imported ({said}); mend what it does at its top level")


@contextmanager
def _without_working_directory() -> Generator[None]:
    """Hide the directory that `python -m` puts before everything else, unless the user's PYTHONPATH names it."""
    first, here = sys.path[:1], str(Path.cwd())
    named = here in os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if sys.flags.safe_path or named or first not in ([""], [here]):
        yield
        return
    sys.path.pop(0)
    try:
        yield
    finally:
        sys.path[:0] = first


def _advice(name: str) -> str:
    file = Path(*name.split(".")).with_suffix(".py")
    if file.is_file():
        return f"the working directory is not searched, so name the file: ./{file}:NAME"
    return "install the package that holds it, put its folder on PYTHONPATH, or name a file: path/to/file.py:NAME"


def _classes(found: Any) -> str:
    held: dict[str, Any] = getattr(found, "__dict__", {})
    home = getattr(found, "__name__", None)
    names = [name for name, value in held.items() if isinstance(value, type) and value.__module__ == home]
    return ", ".join(names[:10]) if names else "no class at all"
