"""The flow of one run: a name from the settings, and the swaps typed beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..nodes.errors import UsageError
from .flow import STANDARD, Flow
from .models import create_model
from .swap import Models, apply_swaps


def choose_flow(
    name: str, named: Mapping[str, Sequence[str]], swaps: Sequence[str] = (), *, models: Models = create_model
) -> Flow:
    """The flow of a name, with more swaps made; its rules are not checked yet.

    `named` holds the swaps of each flow that the settings name; a swap given here wins over one of them.

    Raises:
        UsageError: there is no flow of that name, or as `apply_swaps`.
    """
    if STANDARD.name in named:
        raise UsageError(f"the settings name a flow {STANDARD.name!r}, which is built in; give it another name")
    if name == STANDARD.name:
        flow = STANDARD
    elif name in named:
        flow = replace(apply_swaps(STANDARD, named[name], models=models), name=name)
    else:
        known = ", ".join([STANDARD.name, *named])
        raise UsageError(
            f"there is no flow {name!r}; there are {known}, and settings name more: [flows.NAME] swap = []"
        )
    return apply_swaps(flow, swaps, models=models)
