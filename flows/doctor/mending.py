"""What `turngraph doctor --repair` does to the store, and what it says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...tools.wording import count
from .report import Line, missing, ok, problem
from .settings import in_force

if TYPE_CHECKING:
    from ..store.repair import Repaired


def lines(environ: Mapping[str, str], workdir: Path) -> Iterator[Line]:
    """Mend the store where it is damaged, and tell what was done."""
    from ...nodes.errors import StoreError
    from ..store.repair import repair

    resolved = in_force(environ, workdir)
    if resolved is None:
        yield missing("where the store lies is not known while the settings are wrong, so nothing was repaired")
        return
    path = resolved.settings.store
    if not path.is_file():
        yield ok("there is no store yet, so there is nothing to repair")
        return
    try:
        repaired = repair(path)
        yield from [ok("the store is sound, so nothing was repaired")] if repaired is None else _told(path, repaired)
        mode = path.stat().st_mode & 0o777
        if mode & 0o077:
            path.chmod(0o600)
            yield ok(f"nobody else may read the store any more (mode {mode:o} before)")
    except OSError as error:
        yield problem(f"the store {path} could not be repaired: {error.strerror}")
    except StoreError as error:
        yield problem(str(error))


def _told(path: Path, repaired: Repaired) -> Iterator[Line]:
    found = repaired.found
    yield ok(f"{repaired.kept:,} of {count(found.rows, 'row')} that could be read are in a new {path}")
    yield ok(f"the damaged file is kept as {repaired.damaged}; delete it once nothing is missed")
    for fault in found.pages:
        yield ok(f"mended: {fault}")
    if found.skipped:
        yield problem(f"{count(found.skipped, 'row')} at most are lost, on pages that cannot be read")
    if found.unreadable:
        yield problem(f"{count(found.unreadable, 'row')} that cannot be decoded left out, in whole or in part")
    if found.torn:
        yield problem(f"{count(found.torn, 'seal')} that name lost rows left out, and what they made visible")
    if found.strays:
        yield ok(f"{count(found.strays, 'row')} whose session or turn had lost its own row kept in their session")
    if repaired.sessions:
        yield ok(f"sessions that are known by their rows alone: {', '.join(repaired.sessions)}")
