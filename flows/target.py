"""What `turngraph graph` looks at: a flow by its name, or any flow or pydantic-graph graph that Python can import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, cast

from pydantic_graph import Graph, GraphBuilder
from pydantic_graph.exceptions import GraphBuildingError, GraphSetupError, GraphValidationError

from ..graphs.extract import Drawable, FlowGraph, extract
from ..graphs.foreign import extract_graph
from ..graphs.rules import violations, violations_of
from ..graphs.violation import Violation
from ..nodes.errors import UsageError
from .flow import STANDARD, Flow
from .loading import is_place, load, split_place
from .named import choose_flow
from .swap import apply_swaps, never_asked


@dataclass(frozen=True)
class Target:
    """A flow of ours, or the drawing of another graph."""

    name: str
    found: Flow | FlowGraph

    def graph(self) -> FlowGraph:
        """The graph.

        Raises:
            UsageError: the flow's edges cannot be read.
        """
        return extract(cast(Drawable, self.found)) if isinstance(self.found, Flow) else self.found

    def violations(self) -> list[Violation]:
        return violations_of(self.found) if isinstance(self.found, Flow) else violations(self.found)


def find_target(text: str | None, swaps: Sequence[str], named: Mapping[str, Sequence[str]]) -> Target:
    """The target of a name of `named`, of `module:name`, or of `path/to/file.py:name`; the standard flow of `None`.

    A module is imported only because a person typed it, as `loading.load` says; what it, or the function that makes
    a graph, prints goes to stderr.

    Raises:
        UsageError: it cannot be found, imported or built, is nothing with a graph, or has no roles to swap.
    """
    if text is None or not is_place(text):
        flow = choose_flow(text or STANDARD.name, named, swaps, models=never_asked)
        return Target(flow.name, flow)
    module, name, rest = split_place(text)
    if rest is not None:
        raise UsageError(f"{text!r} has a colon too many; write module:name, or path/to/file.py:name")
    found = _made(text, load(module, name))
    if isinstance(found, Flow):
        return Target(found.name, apply_swaps(found, swaps, models=never_asked))
    if swaps:
        raise UsageError(f"{text} is no flow of turngraph, and has no roles to swap")
    return Target(name, extract_graph(_built(text, found), name))


def _made(text: str, found: Any) -> Any:
    """What a function makes, where a function was named."""
    if isinstance(found, Flow | Graph | GraphBuilder):
        return cast(Any, found)
    if callable(found) and not isinstance(found, type):
        try:
            with redirect_stdout(sys.stderr):
                made: Any = cast(Callable[[], Any], found)()
        except Exception as error:
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            raise UsageError(f"{text} is a function that made no graph ({said}); it is called without arguments") from (
                error
            )
        if isinstance(made, Flow | Graph | GraphBuilder):
            return cast(Any, made)
        found = made
    kind: str = cast(type[Any], found).__name__ if isinstance(found, type) else f"a {type(found).__name__}"
    raise UsageError(
        f"{text} is {kind}, which has no graph to draw; name a Flow of turngraph, a Graph or GraphBuilder of "
        "pydantic-graph, or a function that makes one"
    )


def _built(text: str, found: Any) -> Graph[Any, Any, Any, Any]:
    """A graph, built where only its builder was named; what pydantic-graph would refuse is left to the rules."""
    if not isinstance(found, GraphBuilder):
        return found
    try:
        return cast(Any, found).build(validate_graph_structure=False)
    except (GraphBuildingError, GraphSetupError, GraphValidationError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UsageError(f"{text} cannot be built: {reason}") from error
