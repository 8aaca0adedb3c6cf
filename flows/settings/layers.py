"""One layer of settings at a time: a file, the environment or the flags, each value with where it stands."""

from __future__ import annotations

import difflib
import os
import re
import stat
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from ...nodes.errors import UsageError
from .position import end_of, position_of
from .values import CONFIG, ONLY_IN_FILES, PREFIX, TIGHTENED, Settings, config_path

Kind = Literal["default", "file", "project", "variable", "flag"]
_LARGEST_FILE = 16 * 1024
_NO_SETTINGS = {CONFIG, PREFIX + "CALL"}
"""The second marks the processes of a command that a turn runs."""


@dataclass(frozen=True)
class Origin:
    """Where a value comes from: `where` is `path:line`, the variable or the flag; empty for a built-in value."""

    kind: Kind
    where: str = ""


@dataclass(frozen=True)
class Layer:
    """The values that one place gives, and where it gives each. `path` is its file, if it is one."""

    kind: Kind
    values: Mapping[str, Any]
    places: Mapping[str, str]
    path: Path | None = None
    exists: bool = True

    def origin(self, key: str) -> Origin:
        return Origin(self.kind, self.places[key])


def user_layer(environ: Mapping[str, str]) -> Layer:
    """The user's own file."""
    path = config_path(environ)
    text = _text(path)
    if text is None:
        if environ.get(CONFIG):
            raise UsageError(f"{CONFIG} names {path}, which does not exist; create it or unset it")
        return Layer("file", {}, {}, path, exists=False)
    layer = _file_layer("file", path, text)
    if "store" in layer.values:
        store = path.parent / layer.values["store"].expanduser()
        return Layer("file", {**layer.values, "store": store}, layer.places, path)
    return layer


def project_layer(path: Path) -> Layer:
    """A project's file, which may hold only what tightens."""
    text = _text(path)
    if text is None:
        return Layer("project", {}, {}, path, exists=False)
    return _file_layer("project", path, text)


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """The variables that begin with `TURNGRAPH_`; an empty one is one not set."""
    raw = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environ.items()
        if name.startswith(PREFIX) and name not in _NO_SETTINGS and value
    }
    return _spelled("variable", raw, partial(Settings.model_validate, raw), lambda key: PREFIX + key.upper())


def flag_layer(overrides: Mapping[str, object]) -> Layer:
    """The flags given; `None` is a flag not given."""
    raw = {key: value for key, value in overrides.items() if value is not None}
    validate = partial(Settings.model_validate, raw, strict=True)
    return _spelled("flag", raw, validate, lambda key: "--" + key.replace("_", "-"))


def _spelled(
    kind: Kind, raw: Mapping[str, object], validate: Callable[[], Settings], spell: Callable[[str], str]
) -> Layer:
    if misplaced := [key for key in ONLY_IN_FILES if key in raw]:
        raise UsageError(f"{spell(misplaced[0])} is no setting; write {misplaced[0]} into your settings file instead")
    known = [key for key in Settings.model_fields if key not in ONLY_IN_FILES]
    values = _checked(raw, validate, known, spell, lambda key: "")
    if "store" in values:
        values["store"] = values["store"].expanduser().absolute()
    return Layer(kind, values, {key: spell(key) for key in values})


def _text(path: Path) -> str | None:
    """What a file holds, or `None` where there is none."""
    try:
        # O_NONBLOCK: a FIFO somebody put there must not wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UsageError(f"the settings file {path} cannot be read: it is no regular file")
            data = file.read(_LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"the settings file {path} cannot be read: {error.strerror}") from error
    if len(data) > _LARGEST_FILE:
        raise UsageError(f"the settings file {path} cannot be read: it is larger than {_LARGEST_FILE:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"the settings file {path} cannot be read: {error}") from error


def _file_layer(kind: Kind, path: Path, text: str) -> Layer:
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at (?:line (\d+), column (\d+)|end of document)\)", str(error))
        line, column = (at[1], at[2]) if at and at[1] else end_of(text)
        problem = str(error)[: at.start()].strip() if at else str(error)
        raise UsageError(f"{path}, line {line}, column {column}: {problem}") from error

    def where(key: str) -> str:
        line, column = position_of(text, key)
        return f"{path}, line {line}, column {column}: "

    if kind == "project":
        _refuse_choices(raw, where)
    values = _checked(raw, partial(Settings.model_validate, raw, strict=True), Settings.model_fields, str, where)
    return Layer(kind, values, {key: f"{path}:{position_of(text, key)[0]}" for key in values}, path)


def _refuse_choices(raw: Mapping[str, object], where: Callable[[str], str]) -> None:
    for key in raw:
        if key in Settings.model_fields and key not in TIGHTENED:
            elsewhere = "" if key in ONLY_IN_FILES else f", {PREFIX}{key.upper()} or a flag"
            raise UsageError(
                f"{where(key)}{key} cannot be set by a project, only {', '.join(TIGHTENED)} can; put it into your own "
                f"settings file{elsewhere}"
            )


def _checked(
    raw: Mapping[str, object],
    validate: Callable[[], Settings],
    known: Collection[str],
    spell: Callable[[str], str],
    where: Callable[[str], str],
) -> dict[str, Any]:
    """The values of one layer, as their settings hold them.

    `known` are the settings that the layer may hold, and `spell` names one as the layer writes it.
    """
    try:
        settings = validate()
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        place = f"{where(key)}{spell(key)}"
        if len(first["loc"]) > 1:
            raise UsageError(_problem_within(place, first["loc"][1:], first["msg"])) from None
        if first["type"] == "extra_forbidden":
            close = difflib.get_close_matches(key, known, n=1)
            advice = f"did you mean {spell(close[0])}?" if close else f"there are {', '.join(map(spell, known))}"
            raise UsageError(f"{place} is no setting; {advice}") from None
        problem = first["msg"][0].lower() + first["msg"][1:]
        raise UsageError(f"{place} cannot be {raw[key]!r}: {problem}") from None
    return {key: getattr(settings, key) for key in raw}


def _problem_within(place: str, inside: Sequence[object], message: str) -> str:
    """What is wrong inside a table, such as that of a flow."""
    return f"{'.'.join([place, *map(str, inside)])} is wrong: {message[0].lower()}{message[1:]}"
