"""What can be told of a class before it plays: the wrong ones are stopped, the odd but right ones are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pytest
from pydantic_graph import BaseNode, Edge, End, GraphRunContext
from turngraph import nodes
from turngraph.flows.fit import check_fit
from turngraph.flows.flow import STANDARD
from turngraph.nodes.deps import TurnDeps
from turngraph.nodes.errors import UsageError
from turngraph.nodes.node import Ctx, TurnNode, go
from turngraph.nodes.outcome import TurnResult
from turngraph.nodes.state import AgentState, TurnState


@dataclass
class Foreign(BaseNode[int, str, int]):
    async def run(self, ctx: GraphRunContext[int, str]) -> End[int]:
        return End(1)


class Plain:
    role = "execute"


class Idle(TurnNode):
    role = "execute"
    state = AgentState.TOOL_EXECUTION


class Stateless(TurnNode):
    role = "execute"

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("on")]:
        return go(ctx, nodes.Persist)


class Sync(TurnNode):
    role = "execute"
    state = AgentState.TOOL_EXECUTION

    def run(self, ctx: Ctx) -> nodes.Persist:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return go(ctx, nodes.Persist)


class OtherState(nodes.Execute):
    async def run(self, ctx: GraphRunContext[dict[str, int], TurnDeps]) -> Annotated[nodes.Persist, Edge("on")]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        raise NotImplementedError


class OtherDeps(nodes.Execute):
    async def run(self, ctx: GraphRunContext[TurnState, int]) -> Annotated[nodes.Persist, Edge("on")]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        raise NotImplementedError


@dataclass
class Needy(nodes.Execute):
    width: int


class Sneaky(TurnNode):
    role = "stream"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        if ctx.state.iteration:
            return go(ctx, nodes.ProcessNode)
        return go(ctx, nodes.Persist)  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


class SneakyChild(Sneaky):
    """Its `run` is another's."""


class Unannotated(nodes.Execute):
    async def run(self, ctx: Ctx):  # pyright: ignore
        return go(ctx, nodes.Persist)


@pytest.mark.parametrize(
    ("variant", "said"),
    [
        (Foreign, r"Foreign is a node of int and str, not of TurnState and TurnDeps; .* subclass of TurnNode"),
        (Plain, r"Plain is no node; .* subclass of TurnNode"),
        (42, r"42 is no class; .* subclass of TurnNode"),
        (Idle, r"Idle has no run; write it as `async def run\(self, ctx\)`"),
        (Stateless, r"Stateless has no state; set it, such as `state = AgentState.TOOL_EXECUTION`"),
        (Sync, r"run of .*Sync cannot be awaited"),
        (OtherState, r"takes a context of dict.* where a turn has TurnState; annotate it as `ctx: Ctx`"),
        (OtherDeps, r"takes a context of int where a turn has TurnDeps"),
        (Needy, r"Needy cannot be made: no other node passes width; give it a default"),
        (Unannotated, r"no return annotation"),
    ],
)
def test_what_cannot_play_is_refused_in_a_sentence(variant: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check_fit(variant, nodes.Execute)


@pytest.mark.parametrize("variant", [Sneaky, SneakyChild])
def test_a_step_that_is_not_declared_is_seen_before_it_is_taken(variant: type[TurnNode]) -> None:
    with pytest.raises(UsageError, match=r"goes on to persist in line \d+ of its file.* which has process_node"):
        STANDARD.swap(variant)


@dataclass
class Asking(TurnNode):
    """A role whose class takes arguments."""

    role: ClassVar[str] = "review"
    state = AgentState.RESPONSE
    text: str
    again: bool = False

    async def run(self, ctx: Ctx) -> Annotated[nodes.Stream, Edge("go on")] | Annotated[End[TurnResult], Edge("done")]:
        raise NotImplementedError


@dataclass
class Deaf(Asking):
    def __init__(self) -> None: ...


@dataclass
class Open(Asking):
    def __init__(self, *args: Any, **others: Any) -> None: ...


@dataclass
class Longer(Asking):
    more: int = 1


def test_a_constructor_takes_what_the_others_pass() -> None:
    with pytest.raises(UsageError, match="others pass text, again to review; take it too"):
        check_fit(Deaf, Asking)
    check_fit(Open, Asking)
    check_fit(Longer, Asking)


def test_what_cannot_be_told_is_not_refused() -> None:
    successor: Any = nodes.Persist

    class Roundabout(nodes.Execute):
        async def run(self, ctx: GraphRunContext[Any, Any]) -> Annotated[nodes.Persist, Edge("on")]:
            chosen = successor
            return go(ctx, chosen)

    check_fit(Roundabout, nodes.Execute)
    typed: Any = type("Typed", (nodes.Execute,), {"__module__": "nowhere"})
    check_fit(typed, nodes.Execute)
