"""Driving a turn through its graph: every step held to the flow, every end the same `TurnResult`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import anyio
from pydantic_graph.graph_builder import EndMarker, GraphTask, GraphTaskRequest
from pydantic_graph.id_types import NodeID

from ..graphs.declared import END
from ..nodes.commit import commit
from ..nodes.deps import TurnDeps, Visit
from ..nodes.errors import IllegalState, SinkError, StoreError, TurngraphError, UndeclaredTransition
from ..nodes.events import Event, NodeEntered, NodeLeft, Notice, Sink, TurnEnded, TurnStarted
from ..nodes.node import TurnNode, class_name
from ..nodes.outcome import Outcome, TurnResult
from ..nodes.request_log import logger
from ..nodes.state import TurnState
from .flow import Flow
from .interrupt import Interrupt
from .journal.changes import Changes
from .journal.given import given_to
from .keeper import Keeper


async def drive(
    flow: Flow,
    state: TurnState,
    deps: TurnDeps,
    interrupt: Interrupt,
    *,
    notices: Sequence[Notice] = (),
    visits: int = 0,
    start: TurnNode | None = None,
    keeper: Keeper | None = None,
    changes: Changes | None = None,
) -> TurnResult:
    """Walk the graph, from its start or from the node at which a turn goes on after so many visits.

    `changes` knows the state as the journal has it; by default that is the state now.
    A node that raises or is cancelled has no edge, so the end it comes to is made here.
    """
    try:
        with interrupt.scope(deps.limits.timeout) as scope:
            await deps.sink.emit(
                TurnStarted(
                    turn_id=state.turn_id,
                    session_id=state.session_id,
                    request_id=state.request.request_id,
                    flow=state.flow,
                    model=deps.model.name,
                    prompt=state.prompt,
                )
            )
            for notice in notices:
                await deps.sink.emit(notice)
            result = await _walk(flow, state, deps, visits, start, keeper, changes or Changes(state))
    except (anyio.get_cancelled_exc_class(), KeyboardInterrupt, SystemExit):
        await _settle(flow, state, deps, Outcome.INTERRUPTED, "the task that ran the turn was stopped")
        raise
    except Exception as error:
        cause = _leaf(error)
        if isinstance(cause, TurngraphError):
            return await _settle(flow, state, deps, cause.outcome, str(cause))
        failure = deps.secrets.redact(f"internal error: {type(cause).__name__}: {cause}")
        return await _settle(flow, state, deps, Outcome.INTERNAL_ERROR, failure)
    if scope.cancelled_caught:
        return await _settle(flow, state, deps, *interrupt.reason(deps.limits.timeout))
    return await _ended(flow, deps, result)


async def _walk(
    flow: Flow,
    state: TurnState,
    deps: TurnDeps,
    visits: int,
    start: TurnNode | None,
    keeper: Keeper | None,
    changes: Changes,
) -> TurnResult:
    allowed = {role: {way.to for way in ways} for role, ways in flow.edges.items()}
    if keeper is not None:
        await keeper.look(state)
    node = first = flow.lineup[flow.start]()
    async with flow.graph.iter(state=state, deps=deps, inputs=first) as run:
        step = await anext(run)
        if start is not None and not isinstance(step, EndMarker):
            node = start
            run.override_next([GraphTaskRequest(NodeID(node.role), node, step[0].fork_stack)])
        while not isinstance(step, EndMarker):
            visits += 1
            if not flow.machine.allows(state.agent_state, node.state):
                raise IllegalState(f"{node.role} ({node.state}) was entered from the state {state.agent_state}")
            state.agent_state = node.state
            await deps.sink.emit(NodeEntered(node.role, visits, state.iteration, node.state))
            began = deps.clock.ms()
            try:
                step = await anext(run)
                to = _successor(node, step, allowed[node.role])
                following = None if isinstance(step, EndMarker) else _node_of(step)
                changed = {**changes.since(state), **given_to(following)}
            except BaseException as error:
                said = deps.secrets.redact(f"{type(error).__name__}: {error}".rstrip(": "))
                with anyio.CancelScope(shield=True):
                    try:
                        await _left(deps, _visit(visits, node, state, deps, began, error=said), {})
                    except TurngraphError as failure:  # must not hide why the node was left
                        logger.warning("%s", failure)
                raise
            visit = _visit(visits, node, state, deps, began, to=to)
            if keeper is not None:
                await keeper.look(state)
            await _left(deps, visit, changed)
            node = following or node
        return step.value


def _visit(
    number: int,
    node: TurnNode,
    state: TurnState,
    deps: TurnDeps,
    began: float,
    to: str | None = None,
    error: str | None = None,
) -> Visit:
    return Visit(number, node.role, class_name(type(node)), state.iteration, to, deps.clock.ms() - began, error)


def _successor(node: TurnNode, step: Sequence[GraphTask] | EndMarker[TurnResult], allowed: set[str]) -> str:
    to = END if isinstance(step, EndMarker) else str(step[0].node_id)
    if to not in allowed:
        raise UndeclaredTransition(
            f"{class_name(type(node))} went on to {to}, which its return annotation does not declare; "
            f"it declares {', '.join(sorted(allowed))}"
        )
    return to


def _node_of(step: Sequence[GraphTask]) -> TurnNode:
    (task,) = step
    if not isinstance(task.inputs, TurnNode):
        raise UndeclaredTransition(f"the graph went on to {task.inputs!r}, which is no node of a turn")
    return task.inputs


async def _left(deps: TurnDeps, visit: Visit, changed: Mapping[str, Any]) -> None:
    try:
        deps.log.visit(visit, changed)
    finally:  # what cannot be written is shown all the same
        await deps.sink.emit(
            NodeLeft(visit.role, visit.number, visit.iteration, visit.to, visit.duration_ms, visit.error)
        )


async def _settle(flow: Flow, state: TurnState, deps: TurnDeps, outcome: Outcome, error: str) -> TurnResult:
    with anyio.CancelScope(shield=True):
        deps = replace(deps, sink=_LastWords(deps.sink))
        result = await commit(state, deps, outcome, error)
        if result is not None:
            return await _ended(flow, deps, result)
    raise AssertionError("commit with an outcome returns a result, and a shielded scope is not left early")


async def _ended(flow: Flow, deps: TurnDeps, result: TurnResult) -> TurnResult:
    """Write and show the end. The turn is over: what fails here changes the result and nothing else."""
    result = replace(result, lineup=dict(flow.played), graph_hash=flow.graph_hash)
    try:
        deps.log.end(result)
    except StoreError as failure:
        result = replace(result, outcome=Outcome.INTERNAL_ERROR, error=str(failure), saved=False)
    with anyio.CancelScope(shield=True):
        await _LastWords(deps.sink).emit(TurnEnded(result))
    return result


def _leaf(error: BaseException) -> BaseException:
    """The error inside groups of errors: ours first, since it says most."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast(BaseExceptionGroup[BaseException], error)
    leaves = [_leaf(one) for one in group.exceptions]
    return next((leaf for leaf in leaves if isinstance(leaf, TurngraphError)), leaves[0])


class _LastWords:
    """A sink for the end of a turn, which has nobody left to raise to: failures go to the log."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def emit(self, event: Event) -> None:
        try:
            await self._sink.emit(event)
        except SinkError as error:
            logger.warning("%s", error)
