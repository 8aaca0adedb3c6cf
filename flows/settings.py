"""What the user configured: built-in values, then one settings file, then the environment, then flags.

The file is the user's own, `turngraph.toml` in the user's configuration directory or wherever
`TURNGRAPH_CONFIG` says. A project's files are never read for settings: a project is not trusted to choose a
model or a policy.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, ValidationError

from ..nodes.errors import UsageError

_PREFIX = "TURNGRAPH_"
_CONFIG = "TURNGRAPH_CONFIG"


def default_store() -> Path:
    """The store file in the user's data directory."""
    return Path(platformdirs.user_data_dir("turngraph", appauthor=False)) / "turngraph.db"


def _as_path(given: object) -> object:
    return Path(given) if isinstance(given, str) else given


class Settings(BaseModel):
    """The settings of one process. `max_iterations` counts model requests, `max_tokens` caps one answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Annotated[str, Field(min_length=1)] = "offline"
    base_url: str | None = None
    policy: Literal["read-only", "ask", "auto"] = "ask"
    max_iterations: PositiveInt = 15
    max_tokens: PositiveInt | None = None
    store: Annotated[Path, BeforeValidator(_as_path)] = Field(default_factory=default_store)


def load_settings(overrides: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings in force. `overrides` are the flags by setting; `None` is a flag not given.

    An empty environment variable is one not set; an empty `base_url` means none. A relative `store` counts from
    the settings file's folder, or from the working directory when it comes from a variable or a flag.

    Raises:
        UsageError: a setting that does not exist or a value it cannot have, naming where it stands; or a server
            without the name of a model.
    """
    values = _from_file(environ)
    values |= _from_environment(environ)
    values |= _from_flags(overrides or {})
    values["base_url"] = values.get("base_url") or None
    if values["base_url"] and "model" not in values:
        raise UsageError(
            f"the base URL {values['base_url'].rpartition('@')[2]} names a server, and none of its models is named; "
            f"add --model NAME or set {_PREFIX}MODEL"
        )
    return Settings(**values)


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The settings file, whether it exists or not."""
    if named := environ.get(_CONFIG):
        return Path(named).expanduser().absolute()
    return Path(platformdirs.user_config_dir("turngraph", appauthor=False)) / "turngraph.toml"


def _from_file(environ: Mapping[str, str]) -> dict[str, Any]:
    path = config_path(environ)
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        if environ.get(_CONFIG):
            raise UsageError(f"{_CONFIG} names {path}, which does not exist; create it or unset it") from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the settings file {path} cannot be read: {error}") from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at (?:line (\d+), column (\d+)|end of document)\)", str(error))
        line, column = (at[1], at[2]) if at and at[1] else _end(text)
        problem = str(error)[: at.start()].strip() if at else str(error)
        raise UsageError(f"{path}, line {line}, column {column}: {problem}") from error

    def where(key: str) -> str:
        line, column = _position(text, key)
        return f"{path}, line {line}, column {column}: "

    given = _checked(raw, partial(Settings.model_validate, raw, strict=True), str, where)
    if "store" in given:
        given["store"] = path.parent / given["store"].expanduser()
    return given


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    raw = {
        name.removeprefix(_PREFIX).lower(): value
        for name, value in environ.items()
        if name.startswith(_PREFIX) and name != _CONFIG and value
    }
    return _absolute(_checked(raw, partial(Settings.model_validate, raw), lambda key: _PREFIX + key.upper()))


def _from_flags(overrides: Mapping[str, object]) -> dict[str, Any]:
    raw = {key: value for key, value in overrides.items() if value is not None}
    validate = partial(Settings.model_validate, raw, strict=True)
    return _absolute(_checked(raw, validate, lambda key: "--" + key.replace("_", "-")))


def _absolute(given: dict[str, Any]) -> dict[str, Any]:
    if "store" in given:
        given["store"] = given["store"].expanduser().absolute()
    return given


def _checked(
    raw: Mapping[str, object],
    validate: Callable[[], Settings],
    spell: Callable[[str], str],
    where: Callable[[str], str] = lambda key: "",
) -> dict[str, Any]:
    """The values of one layer, as their settings hold them. `spell` names a setting as the layer writes it."""
    try:
        settings = validate()
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        place = f"{where(key)}{spell(key)}"
        if first["type"] == "extra_forbidden":
            close = difflib.get_close_matches(key, Settings.model_fields, n=1)
            known = ", ".join(map(spell, Settings.model_fields))
            advice = f"did you mean {spell(close[0])}?" if close else f"there are {known}"
            raise UsageError(f"{place} is no setting; {advice}") from None
        problem = first["msg"][0].lower() + first["msg"][1:]
        raise UsageError(f"{place} cannot be {raw[key]!r}: {problem}") from None
    return {key: getattr(settings, key) for key in raw}


def _position(text: str, key: str) -> tuple[int, int]:
    """Line and column, from 1, where a top-level key of a valid TOML document stands.

    The key's statement is the first one whose prefix of the document parses and holds the key.
    """
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    start = 0
    for end in range(1, len(lines) + 1):
        try:
            seen = tomllib.loads("".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        if key in seen:
            break
        start = end
    line = lines[start]
    return start + 1, len(line) - len(line.lstrip()) + 1


def _end(text: str) -> tuple[int, int]:
    last = text.rpartition("\n")[2]
    return text.count("\n") + 1, len(last) + 1
