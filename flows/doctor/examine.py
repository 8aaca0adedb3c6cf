"""All sections, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from . import environment, flow, mending, model, servers, settings, store, versions
from .report import Line, Report, Section, problem


def examine(environ: Mapping[str, str], workdir: Path, *, local: bool = False, repair: bool = False) -> Report:
    """Look at everything a turn in `workdir` needs.

    With `local`, ask the usual ports of this machine for servers; with `repair`, mend the store before.
    """
    found = partial(settings.in_force, environ, workdir)
    sections: list[tuple[str, Callable[[], Iterable[Line]]]] = [
        ("Versions", versions.lines),
        ("Settings", partial(settings.lines, environ, workdir)),
        ("Flow", partial(flow.lines, found)),
        ("Model", partial(model.lines, found, workdir)),
        ("Providers", partial(model.providers, environ)),
        ("Store", partial(store.lines, found)),
        ("Terminal", partial(environment.lines, environ)),
    ]
    if local:
        sections.insert(5, ("Local servers", servers.lines))
    if repair:
        sections.insert(0, ("Repair", partial(mending.lines, environ, workdir)))
    return Report(tuple(Section(title, _looked(look)) for title, look in sections))


def _looked(look: Callable[[], Iterable[Line]]) -> tuple[Line, ...]:
    """A section's lines; where a broken installation breaks the looking itself, that is the finding."""
    lines: list[Line] = []
    try:
        lines.extend(look())
    except Exception as error:
        said = " ".join(str(error).split())
        lines.append(problem(f"this could not be looked at: {type(error).__name__}: {said}", _REINSTALL, blocks=True))
    return tuple(lines)


_REINSTALL = "pip install --force-reinstall turngraph"
