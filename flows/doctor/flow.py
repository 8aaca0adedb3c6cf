"""Which flow would run, and whether the flows that the settings name are ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .report import Line, missing, ok, problem

if TYPE_CHECKING:
    from ..settings import Resolved

_MEND = "correct [flows] or flow in your settings file; turngraph nodes list names the classes there are"


def lines(found: Callable[[], Resolved | None]) -> Iterator[Line]:
    from ...graphs.rules import check
    from ...nodes.errors import UsageError
    from ..named import choose_flow
    from ..swap import never_asked

    resolved = found()
    if resolved is None:
        yield missing("which flow would run is not known while the settings are wrong")
        return
    chosen = resolved.settings.flow
    named = {name: one.swap for name, one in resolved.settings.flows.items()}
    for name in dict.fromkeys([chosen, *named]):
        try:
            check(choose_flow(name, named, models=never_asked))
        except UsageError as error:
            yield problem(f"{name}: {error}", _MEND, blocks=name == chosen)
        else:
            yield ok(f"{name} {'would run' if name == chosen else 'can be run with --flow'} and keeps all rules")
