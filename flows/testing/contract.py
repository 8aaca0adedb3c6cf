"""The contract of a node, as tests that a variant's author inherits."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import ClassVar

import anyio
import anyio.lowlevel
from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturnPart

from ...graphs.declared import END
from ...nodes.deps import Limits
from ...nodes.events import Event, ToolCalled, ToolFinished
from ...nodes.node import TurnNode, class_name
from ...nodes.outcome import Outcome, TurnResult
from ..flow import STANDARD, Flow
from ..interrupt import Interrupt
from ..runner import run_turn
from ..store import Store
from .model import ScriptedModel
from .scripts import SCRIPTS, Script, tools
from .stage import ITERATIONS, staged
from .walk import Boundary, walk, written_by

PATIENCE = 30.0
"""Seconds that one turn may take."""


class NodeContract:
    """What must hold of every node; subclass it in a test file and name the class:

        class TestMine(NodeContract):
            variant = Mine

    `beside` are other variants that it is made to work with, `flow` is what it is swapped into, `scripts` what the
    model says. With `writes` the fields of the state are given that it may change; without, they are only printed
    (`pytest -rP` shows them).
    """

    variant: ClassVar[type[TurnNode]]
    beside: ClassVar[tuple[type[TurnNode], ...]] = ()
    flow: ClassVar[Flow] = STANDARD
    scripts: ClassVar[tuple[Script, ...]] = SCRIPTS
    writes: ClassVar[frozenset[str] | None] = None

    @classmethod
    def swapped(cls) -> Flow:
        """The flow with the variant in it."""
        flow = cls.flow
        for variant in (*cls.beside, cls.variant):
            flow = flow.swap(variant)
        return flow

    def test_it_fits_its_role_and_the_flow_keeps_the_rules(self) -> None:
        from ...graphs.rules import check

        check(self.swapped())

    def test_every_step_is_declared_and_no_call_is_left_open(self) -> None:
        """Walks every script twice in one session, so that a turn with a history is among them."""
        for script in self.scripts:
            for boundary in _walked(self.swapped(), script)[1]:
                _refuse_open_calls(script, boundary)

    def test_a_turn_goes_on_the_same_from_a_state_read_back_at_any_boundary(self) -> None:
        for script in self.scripts:
            straight, steps = _walked(self.swapped(), script)
            again, steps_again = _walked(self.swapped(), script, reload=True)
            for one, other in zip(steps, steps_again, strict=False):
                differing = [name for name, value in one.after.items() if other.after[name] != value]
                _require(
                    (one.role, one.to) == (other.role, other.to) and not differing,
                    f"{script.name}: from a state that was read back, {other.role} went on to {other.to} and left "
                    f"other values in {', '.join(differing) or 'nothing'}; it went on to {one.to} before",
                )
            _require(
                (straight, len(steps)) == (again, len(steps_again)),
                f"{script.name}: from a state that was read back, the turn ended with {again}, and with {straight} "
                "before",
            )

    def test_it_can_be_stopped_at_any_event(self) -> None:
        flow = self.swapped()
        for script in self.scripts:
            anyio.run(_stop_everywhere, flow, script)

    def test_it_writes_what_it_says(self) -> None:
        seen = self.seen_to_write()
        print(f"{class_name(self.variant)} was seen to write: {', '.join(sorted(seen)) or 'nothing'}")
        if self.writes is not None:
            more = sorted(seen - self.writes)
            _require(not more, f"{class_name(self.variant)} was seen to write {', '.join(more)}, beyond what it says")

    @classmethod
    def seen_to_write(cls) -> frozenset[str]:
        """The fields of the state that the variant changed in any script."""
        steps = [step for script in cls.scripts for step in _walked(cls.swapped(), script)[1]]
        return written_by(steps, cls.variant.role)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _walked(flow: Flow, script: Script, *, reload: bool = False) -> tuple[list[TurnResult | str], list[Boundary]]:
    return anyio.run(_walk_twice, flow, script, reload)


async def _walk_twice(flow: Flow, script: Script, reload: bool) -> tuple[list[TurnResult | str], list[Boundary]]:
    results: list[TurnResult | str] = []
    steps: list[Boundary] = []
    with Store.in_memory() as store, anyio.fail_after(PATIENCE):
        session = store.create_session("")
        for number in (1, 2):
            model = ScriptedModel(*script.replies)
            async with staged(flow, model, store, session, f"turn-{number}") as stage:
                results.append(await walk(flow, stage, reload=reload, look=steps.append))
    return results, steps


def _refuse_open_calls(script: Script, step: Boundary) -> None:
    """Who goes on to the node that seals leaves every call with a result."""
    if step.to in ("persist", END):
        _require(
            not step.open_calls,
            f"{script.name}: {step.role} went on to {step.to} and left {len(step.open_calls)} calls without a result "
            f"({', '.join(step.open_calls)}); fill each slot with `settle`",
        )


class _Stopping:
    """Fires an interrupt at the n-th event, counted from 1, and lets it be felt at once."""

    def __init__(self, number: int) -> None:
        self.interrupt = Interrupt()
        self.events: list[Event] = []
        self._number = number

    async def emit(self, event: Event) -> None:
        self.events.append(event)
        if len(self.events) == self._number:
            self.interrupt.fire()
        await anyio.lowlevel.checkpoint()


async def _stop_everywhere(flow: Flow, script: Script) -> None:
    for number, event in enumerate(await _run(flow, script, 0, f"{script.name}, not stopped"), 1):
        await _run(flow, script, number, f"{script.name}, stopped at event {number} ({type(event).__name__})")


async def _run(flow: Flow, script: Script, number: int, at: str) -> list[Event]:
    """Run a turn that is stopped at an event, and look at what it leaves; its events."""
    sink, running = _Stopping(number), asyncio.all_tasks()
    with Store.in_memory() as store, anyio.fail_after(PATIENCE):
        session = store.create_session("")
        result = await run_turn(
            "work",
            model=ScriptedModel(*script.replies),
            toolsets=[tools()],
            flow=flow,
            sink=sink,
            store=store,
            session=session,
            limits=Limits(max_iterations=ITERATIONS),
            interrupt=sink.interrupt,
        )
        history = store.load_messages(session).messages
    _require(result.outcome is not Outcome.INTERNAL_ERROR, f"{at}: {result.error}")
    called = Counter(event.call_id for event in sink.events if isinstance(event, ToolCalled))
    finished = Counter(event.call_id for event in sink.events if isinstance(event, ToolFinished))
    _require(called == finished, f"{at}: {called.total()} calls were announced and {finished.total()} had a result")
    _require(not (left := _unanswered(history)), f"{at}: the saved history holds {left} calls without a result")
    left_behind = asyncio.all_tasks() - running
    _require(not left_behind, f"{at}: {len(left_behind)} tasks outlived the turn; start tasks in a task group")
    return sink.events


def _unanswered(history: list[ModelMessage]) -> int:
    parts = [part for message in history for part in message.parts]
    calls = Counter(part.tool_call_id for part in parts if isinstance(part, ToolCallPart))
    calls.subtract(part.tool_call_id for part in parts if isinstance(part, ToolReturnPart))
    return sum(abs(count) for count in calls.values())
