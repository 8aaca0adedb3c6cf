"""Which settings files there are, and whether the settings can be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .report import Line, missing, ok, problem

if TYPE_CHECKING:
    from ..settings import Resolved


def in_force(environ: Mapping[str, str], workdir: Path) -> Resolved | None:
    """The settings, or `None` where they are wrong, which their own section tells."""
    from ...nodes.errors import UsageError
    from ..settings import resolve_settings

    try:
        return resolve_settings({}, environ, workdir)
    except UsageError:
        return None


def lines(environ: Mapping[str, str], workdir: Path) -> Iterator[Line]:
    from ...nodes.errors import UsageError
    from ..settings import config_path, resolve_settings

    if not workdir.is_dir():
        yield problem(f"there is no directory {workdir} to work in", f"mkdir {workdir}", blocks=True)
    try:
        resolved = resolve_settings({}, environ, workdir)
    except UsageError as error:
        yield problem(str(error), "change what the line before names, then: turngraph settings show", blocks=True)
        return
    for layer in resolved.files:
        whose = "your file" if layer.kind == "file" else "the project's file"
        if layer.exists:
            yield ok(f"{whose} {layer.path} sets {', '.join(layer.values) or 'nothing'}")
        elif layer.kind == "file":
            yield missing(f"you have no settings file; it would be {config_path(environ)}")
    for one in resolved.each.values():
        if one.origin.kind in ("variable", "project"):
            yield ok(f"{one.key} is {one.shown}, from {one.origin.where}")
    yield ok(f"policy {resolved.settings.policy}, at most {resolved.settings.max_iterations} model requests a turn")
