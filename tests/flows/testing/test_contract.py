"""The contract finds what it is there to find."""

from __future__ import annotations

import asyncio
import dataclasses
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar

import anyio
import pytest
from pydantic_graph import Edge
from turngraph import nodes
from turngraph.nodes.errors import UsageError
from turngraph.nodes.node import Ctx, TurnNode, go
from turngraph.nodes.state import AgentState
from turngraph.testing import NodeContract, Script

CALLS = tuple(script for script in NodeContract.scripts if script.name in ("a call", "an answer"))
FORGET = r"execute went on to persist and left 1 calls without a result \(look\); fill"


class Forgetful(TurnNode):
    """Leaves the calls without results."""

    role = "execute"
    state = AgentState.TOOL_EXECUTION

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("results in")]:
        return go(ctx, nodes.Persist)


class Wayward(TurnNode):
    """Takes a step that no reader of its text can foresee."""

    role = "process_node"
    state = AgentState.ASSISTANT

    async def run(
        self, ctx: Ctx
    ) -> Annotated[nodes.Dispatch, Edge("calls")] | Annotated[nodes.Persist, Edge("an answer")]:
        successor: Any = nodes.Stream()
        return successor


class Keeping(nodes.Execute):
    """Keeps what JSON does not hold."""

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("results in")]:
        kept: Any = anyio.Event()
        ctx.state.edited_files.append(kept)
        return await super().run(ctx)


class Adding(nodes.Execute):
    """Adds a field to the state."""

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("results in")]:
        state: Any = ctx.state
        state.extra = 1
        return await super().run(ctx)


class Leaving(nodes.Stream):
    """Starts what it does not wait for."""

    left: ClassVar[list[asyncio.Task[None]]] = []

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        self.left.append(asyncio.create_task(asyncio.sleep(60)))
        return await super().run(ctx)


class Greedy(nodes.Execute):
    """Writes what it says it does not."""

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("results in")]:
        ctx.state.session.thoughts.append("mine")
        return await super().run(ctx)


def contract(played: type[TurnNode], *scripts: Script) -> NodeContract:
    class Contract(NodeContract):
        variant = played

    Contract.scripts = scripts or CALLS
    return Contract()


Test = Callable[[NodeContract], None]
STEPS = NodeContract.test_every_step_is_declared_and_no_call_is_left_open
BACK = NodeContract.test_a_turn_goes_on_the_same_from_a_state_read_back_at_any_boundary
STOPPED = NodeContract.test_it_can_be_stopped_at_any_event


@pytest.mark.parametrize(
    ("variant", "test", "said"),
    [
        (Forgetful, STEPS, "a call: " + FORGET),
        (Wayward, STEPS, r"Wayward went on to stream, which it does not declare; .* which has dispatch, persist"),
        (Keeping, BACK, r"before persist the state cannot be written as JSON: .*Event"),
        (Adding, BACK, r"before persist the state has extra, which it has no fields for"),
        (Leaving, STOPPED, r"not stopped: [1-9] tasks outlived the turn; start tasks in a task group"),
        (Wayward, STOPPED, r"not stopped: .*Wayward went on to stream, which its return annotation"),
    ],
)
def test_what_breaks_the_contract_is_found_and_named(variant: type[TurnNode], test: Test, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        test(contract(variant))


def test_what_a_node_writes_is_reported_and_held_to_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    greedy = contract(Greedy)
    greedy.test_it_writes_what_it_says()
    assert capsys.readouterr().out == (
        f"{__name__}:Greedy was seen to write: session.thoughts, session.tool_registry, usage\n"
    )
    type(greedy).writes = frozenset({"session.tool_registry", "usage"})
    with pytest.raises(AssertionError, match=r"was seen to write session\.thoughts, beyond what it says"):
        greedy.test_it_writes_what_it_says()


def test_a_variant_that_does_not_fit_is_refused() -> None:
    @dataclasses.dataclass
    class Needy(nodes.Execute):
        width: int

    with pytest.raises(UsageError, match="no other node passes width"):
        contract(Needy).test_it_fits_its_role_and_the_flow_keeps_the_rules()


def test_an_author_needs_a_subclass_and_nothing_else(tmp_path: Path) -> None:
    """In a project of their own, without plugins and settings of this one."""
    test = tmp_path / "test_mine.py"
    test.write_text(
        "from turngraph import nodes\n"
        "from turngraph.testing import SCRIPTS, NodeContract\n\n"
        "class TestMine(NodeContract):\n"
        "    variant = nodes.Persist\n"
        "    scripts = SCRIPTS[:3]\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(test)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout
