"""The settings in force: the layers put together, and a project's bounds laid upon them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...nodes.errors import UsageError
from ...tools.gitdir import repository_of
from .layers import Layer, Origin, environment_layer, flag_layer, project_layer, user_layer
from .values import FILE, PREFIX, TIGHTENED, Settings, config_path, is_looser


@dataclass(frozen=True)
class Setting:
    """One setting in force. `held_back` is the looser value, and its origin, that a project's file replaced."""

    key: str
    value: Any
    origin: Origin
    held_back: tuple[Any, Origin] | None = None

    @property
    def shown(self) -> str:
        """The value for a person; what may be a secret in it is left out."""
        return shown(self.key, self.value)


@dataclass(frozen=True)
class Resolved:
    """Settings, each with its origin, and the files that were looked for."""

    settings: Settings
    each: Mapping[str, Setting]
    files: tuple[Layer, ...]

    @property
    def notices(self) -> list[str]:
        """What a person should know before a turn: what a project holds back."""
        return [_notice(one) for one in self.each.values() if one.origin.kind == "project"]


def load_settings(
    overrides: Mapping[str, object] | None = None,
    environ: Mapping[str, str] = os.environ,
    workdir: Path | None = None,
) -> Settings:
    """The values of `resolve_settings`."""
    return resolve_settings(overrides, environ, workdir).settings


def resolve_settings(
    overrides: Mapping[str, object] | None = None,
    environ: Mapping[str, str] = os.environ,
    workdir: Path | None = None,
) -> Resolved:
    """The settings in force and where each comes from.

    `overrides` are the flags by setting; `None` is a flag not given. With `workdir`, the `turngraph.toml` there and
    the one at the root of its git repository may tighten the policy and the limits, except against a flag. An empty
    environment variable is one not set; an empty `base_url` means none. A relative `store` counts from the user
    file's folder, or from the working directory when it comes from a variable or a flag.

    Raises:
        UsageError: a setting that does not exist or a value it cannot have, naming where it stands; a project's file
            that sets more than it may; or a server without the name of a model.
    """
    user = user_layer(environ)
    projects = [project_layer(path) for path in _project_files(workdir, config_path(environ))]
    flags = flag_layer(overrides or {})
    each = {key: Setting(key, value, Origin("default")) for key, value in Settings().model_dump().items()}
    for layer in (user, environment_layer(environ), flags):
        each |= {key: Setting(key, value, layer.origin(key)) for key, value in layer.values.items()}
    each = {key: _bounded(setting, projects) for key, setting in each.items()}
    values = {key: setting.value for key, setting in each.items()}
    values["base_url"] = values["base_url"] or None
    if values["base_url"] and each["model"].origin.kind == "default":
        raise UsageError(
            f"the base URL {shown('base_url', values['base_url'])} names a server, and none of its models is named; "
            f"add --model NAME or set {PREFIX}MODEL"
        )
    each["base_url"] = Setting("base_url", values["base_url"], each["base_url"].origin)
    return Resolved(Settings(**values), each, (user, *projects))


def shown(key: str, value: Any) -> str:
    """A setting's value for a person: of a URL only what cannot hold a secret."""
    if value is None:
        return "none"
    if key == "flows":
        return ", ".join(value) or "none"
    text = str(value)
    if key != "base_url":
        return text
    scheme, separator, rest = text.partition("?")[0].partition("#")[0].partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}" if separator else text.rpartition("@")[2].partition("?")[0]


def _project_files(workdir: Path | None, users: Path) -> Sequence[Path]:
    """The working directory's file and its git repository's, where they are not the user's own."""
    if workdir is None:
        return []
    workdir = workdir.resolve()
    paths = dict.fromkeys(folder / FILE for folder in (workdir, repository_of(workdir) or workdir))
    return [path for path in paths if path.resolve() != users.resolve()]


def _bounded(setting: Setting, projects: Sequence[Layer]) -> Setting:
    if setting.key not in TIGHTENED or setting.origin.kind == "flag":
        return setting
    held_back = None if setting.origin.kind == "default" else (setting.value, setting.origin)
    for project in projects:
        bound = project.values.get(setting.key)
        if bound is not None and is_looser(setting.key, setting.value, bound):
            setting = Setting(setting.key, bound, project.origin(setting.key), held_back)
    return setting


def _notice(setting: Setting) -> str:
    flag = "--" + setting.key.replace("_", "-")
    instead = ""
    if setting.held_back is not None:
        value, origin = setting.held_back
        instead = f", not {shown(setting.key, value)} as {origin.where} says"
    return (
        f"{setting.key} is {setting.shown}{instead}: the project's {setting.origin.where} wants it; {flag} wins over it"
    )
