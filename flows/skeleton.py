"""The first lines of a new variant and of its test."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from ..graphs.declared import END, DeclaredEdge
from ..nodes.errors import UsageError
from .flow import Flow

_LINE = 84
"""How long a line in a class may be, without its indentation."""

_NODE = '''"""{name}: another player of the role {role}."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic_graph import {graph_names}
from turngraph import {names}


@dataclass
class {name}(nodes.{part}):
    """What it does otherwise, and what that trades for what."""

    {run}
        return await super().run(ctx)
'''

_TEST = '''"""{name} keeps the contract of every node."""

from __future__ import annotations

from turngraph.testing import NodeContract

from {module} import {name}


class Test{name}(NodeContract):
    variant = {name}
'''


@dataclass(frozen=True)
class Skeleton:
    """Two files: their names and texts."""

    node_file: str
    node: str
    test_file: str
    test: str


def skeleton(flow: Flow, role: str, name: str) -> Skeleton:
    """A variant of a role that does what the role's own class does, with the same ways out, and a test of it.

    Raises:
        UsageError: the flow has no such role, or the name is none for a class, or for the module that will hold it.
    """
    if role not in flow.lineup:
        raise UsageError(f"the flow {flow.name} has no role {role!r}; its roles are {', '.join(flow.lineup)}")
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
        raise UsageError(
            f"{name!r} is no name for a class here; write letters and digits, a capital first: CalmExecute"
        )
    module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    if module in sys.stdlib_module_names:
        raise UsageError(f"{name} would be kept in {module}.py, which hides Python's own {module}; take another name")
    part, ways = flow.lineup[role].__name__, flow.edges[role]
    ends = any(way.to == END for way in ways)
    node = _NODE.format(
        name=name,
        role=role,
        part=part,
        graph_names="Edge, End" if ends else "Edge",
        names="Ctx, TurnResult, nodes" if ends else "Ctx, nodes",
        run=_run([_way(flow, way) for way in ways]),
    )
    return Skeleton(f"{module}.py", node, f"test_{module}.py", _TEST.format(name=name, module=module))


def _way(flow: Flow, way: DeclaredEdge) -> str:
    target = "End[TurnResult]" if way.to == END else f"nodes.{flow.lineup[way.to].__name__}"
    return f'Annotated[{target}, Edge("{way.label}")]' if way.label else target


def _run(ways: list[str]) -> str:
    """The first line of `run`, as formatters break it."""
    line = f"async def run(self, ctx: Ctx) -> {ways[0]}:"
    if len(ways) == 1 and len(line) <= _LINE:
        return line
    lines = "\n        | ".join(ways)
    annotation = ways[0] if len(ways) == 1 else f"(\n        {lines}\n    )"
    return f"async def run(\n        self, ctx: Ctx\n    ) -> {annotation}:"
