"""The flow of one run: a name from the settings, the swaps typed beside it, and how it differs from the standard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..nodes.errors import UsageError
from ..nodes.node import class_name
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


def differences(flow: Flow, base: Flow = STANDARD) -> list[str]:
    """How a flow differs from another with the same roles, a sentence for each swapped class and changed edge."""
    said = [
        f"{role} is played by {class_name(cls)} instead of {class_name(base.lineup[role])}"
        for role, cls in flow.lineup.items()
        if role in base.lineup and cls is not base.lineup[role]
    ]
    for role in flow.lineup:
        after = {way.to: way.label for way in flow.edges[role]}
        before = {way.to: way.label for way in base.edges.get(role, ())}
        said += [f"new way: {role} -> {to} ({label or 'no label'})" for to, label in after.items() if to not in before]
        said += [f"no more: {role} -> {to} ({label or 'no label'})" for to, label in before.items() if to not in after]
    return said
