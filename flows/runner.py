"""The runner: one turn, node by node, held to its flow, ending in one result whatever happens."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset
from pydantic_graph.graph_builder import EndMarker, GraphTask

from ..graphs.declared import END
from ..nodes.commit import commit
from ..nodes.deps import Limits, TurnDeps, Visit
from ..nodes.errors import (
    IllegalState,
    SinkError,
    StoreError,
    TurngraphError,
    UndeclaredTransition,
    UsageError,
)
from ..nodes.events import Event, NodeEntered, NodeLeft, Notice, Sink, TurnEnded, TurnStarted
from ..nodes.model_port import ModelPort
from ..nodes.node import TurnNode
from ..nodes.outcome import Outcome, TurnResult
from ..nodes.request_log import logger
from ..nodes.state import RequestContext, SessionState, TurnState
from ..nodes.toolbox import Toolbox
from ..tools.policy import Auto, Policy
from .clock import SystemClock
from .flow import STANDARD, Flow
from .interrupt import Interrupt
from .models import create_model
from .sinks import NullSink
from .store import Store, TurnHead


async def run_turn(
    prompt: str,
    *,
    model: Model | str,
    toolsets: Sequence[AbstractToolset[Any]] = (),
    flow: Flow = STANDARD,
    sink: Sink | None = None,
    store: Store | None = None,
    session: str | None = None,
    policy: Policy | None = None,
    limits: Limits | None = None,
    instructions: str = "",
    workdir: Path | None = None,
    tool_deps: Any = None,
    interrupt: Interrupt | None = None,
    debug: bool = False,
) -> TurnResult:
    """Run one turn: from a prompt to a result.

    Args:
        prompt: what the user says.
        model: a pydantic-ai model, or a specification such as `anthropic:claude-sonnet-4-5`.
        toolsets: pydantic-ai toolsets, taken as they are; they are opened and closed with the turn.
        flow: the graph to run; `STANDARD.swap(MyStream)` plays one role differently.
        sink: where events go; nowhere by default.
        store: where the turn is kept; in memory, and gone afterwards, by default.
        session: the id of the session to go on with; a new one by default.
        policy: who may run what; by default every tool the caller hands in runs.
        limits: the turn's budgets.
        instructions: the system prompt.
        workdir: the directory the session belongs to; the current one by default. Tools have their own root.
        tool_deps: what the toolsets see as `RunContext.deps`.
        interrupt: ends the turn from outside when it is fired.
        debug: write the detailed log to the logger `turngraph`.

    Returns:
        The result, also when the turn failed, was interrupted or ran out of a budget.

    Raises:
        UsageError: before the turn began: a model, flow or session that cannot be, or a toolset that does not open.
        StoreError: before the turn began: the store cannot be used, or the session is busy elsewhere.
    """
    limits = limits or Limits()
    clock = SystemClock()
    workdir = (workdir or Path.cwd()).resolve()
    model = create_model(model) if isinstance(model, str) else model
    port = ModelPort(model, instructions=instructions, max_tokens=limits.max_tokens)
    _check(flow)
    async with AsyncExitStack() as stack:
        store = store or stack.enter_context(Store.in_memory())
        toolset = await stack.enter_async_context(_opened(model, toolsets))
        session = session or store.create_session(str(workdir))
        turn_id = uuid.uuid4().hex
        request = RequestContext(turn_id[:8], limits.max_iterations, debug)
        log = stack.enter_context(
            store.begin_turn(
                TurnHead(
                    turn_id=turn_id,
                    session_id=session,
                    request_id=request.request_id,
                    prompt=prompt,
                    flow=flow.name,
                    lineup={role: _name(cls) for role, cls in flow.lineup.items()},
                    model=port.name,
                    policy=type(policy or Auto()).__name__,
                    workdir=str(workdir),
                    instructions=instructions,
                )
            )
        )
        history = store.load_messages(session)
        state = TurnState(
            turn_id=turn_id,
            session_id=session,
            flow=flow.name,
            prompt=prompt,
            request=request,
            agent_state=flow.machine.initial,
            session=SessionState(messages=history.messages),
            started_ms=clock.ms(),
        )
        deps = TurnDeps(
            model=port,
            toolbox=Toolbox(toolset, model, tool_deps),
            policy=policy or Auto(),
            sink=_TypedSink(sink or NullSink()),
            log=log,
            clock=clock,
            limits=limits,
            lineup=flow.lineup,
        )
        return await _drive(flow, state, deps, interrupt or Interrupt(), history.skipped)


def _check(flow: Flow) -> None:
    """Refuse a flow that breaks the rules; the standard one is checked by the tests, which spares its start-up."""
    if flow is not STANDARD:
        from ..graphs.rules import check

        check(flow)


@asynccontextmanager
async def _opened(model: Model, toolsets: Sequence[AbstractToolset[Any]]) -> AsyncGenerator[AbstractToolset[Any]]:
    """The model and the toolsets, open. What fails when they are closed, after the turn, goes to the log."""
    async with AsyncExitStack() as opening:
        await opening.enter_async_context(model)
        try:
            toolset = await opening.enter_async_context(CombinedToolset(list(toolsets)))
        except Exception as error:
            raise UsageError(f"a toolset could not be opened ({type(error).__name__}: {error})") from error
        opened = opening.pop_all()
    try:
        yield toolset
    finally:
        try:
            await opened.aclose()
        except Exception as error:
            logger.warning("the model or a toolset could not be closed (%s: %s)", type(error).__name__, error)


async def _drive(flow: Flow, state: TurnState, deps: TurnDeps, interrupt: Interrupt, skipped: int) -> TurnResult:
    """Walk the graph. A node that raises or is cancelled has no edge, so the end it comes to is made here."""
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
            if skipped:
                await deps.sink.emit(Notice("warning", f"{skipped} damaged messages of the session left out"))
            result = await _walk(flow, state, deps)
    except anyio.get_cancelled_exc_class():
        await _settle(state, deps, Outcome.INTERRUPTED, "the task that ran the turn was cancelled")
        raise
    except Exception as error:
        cause = _leaf(error)
        if isinstance(cause, TurngraphError):
            return await _settle(state, deps, cause.outcome, str(cause))
        failure = f"internal error: {type(cause).__name__}: {cause}"
        return await _settle(state, deps, Outcome.INTERNAL_ERROR, failure)
    if scope.cancelled_caught:
        return await _settle(state, deps, *interrupt.reason(deps.limits.timeout))
    return await _ended(deps, result)


async def _walk(flow: Flow, state: TurnState, deps: TurnDeps) -> TurnResult:
    allowed = {role: {way.to for way in ways} for role, ways in flow.edges.items()}
    number = 0
    start = flow.lineup[flow.start]()
    async with flow.graph.iter(state=state, deps=deps, inputs=start) as run:
        step = await anext(run)
        while not isinstance(step, EndMarker):
            node = _node_of(step)
            role, number = node.role, number + 1
            if not flow.machine.allows(state.agent_state, node.state):
                raise IllegalState(f"{role} ({node.state}) was entered from the state {state.agent_state}")
            state.agent_state = node.state
            await deps.sink.emit(NodeEntered(role, number, state.iteration, node.state))
            began = deps.clock.ms()
            try:
                step = await anext(run)
                to = _successor(node, step, allowed[role])
            except BaseException as error:
                said = f"{type(error).__name__}: {error}".rstrip(": ")
                with anyio.CancelScope(shield=True):
                    try:
                        await _left(state, deps, node, number, None, began, said)
                    except TurngraphError as failure:  # must not hide why the node was left
                        logger.warning("%s", failure)
                raise
            await _left(state, deps, node, number, to, began)
        return step.value


def _successor(node: TurnNode, step: Sequence[GraphTask] | EndMarker[TurnResult], allowed: set[str]) -> str:
    to = END if isinstance(step, EndMarker) else str(step[0].node_id)
    if to not in allowed:
        raise UndeclaredTransition(
            f"{_name(type(node))} went on to {to}, which its return annotation does not declare; "
            f"it declares {', '.join(sorted(allowed))}"
        )
    return to


def _node_of(step: Sequence[GraphTask]) -> TurnNode:
    (task,) = step
    if not isinstance(task.inputs, TurnNode):
        raise UndeclaredTransition(f"the graph went on to {task.inputs!r}, which is no node of a turn")
    return task.inputs


async def _left(
    state: TurnState,
    deps: TurnDeps,
    node: TurnNode,
    number: int,
    to: str | None,
    began: float,
    error: str | None = None,
) -> None:
    duration = deps.clock.ms() - began
    try:
        deps.log.visit(Visit(number, node.role, _name(type(node)), state.iteration, to, duration, error))
    finally:  # what cannot be written is shown all the same
        await deps.sink.emit(NodeLeft(node.role, number, state.iteration, to, duration, error))


async def _settle(state: TurnState, deps: TurnDeps, outcome: Outcome, error: str) -> TurnResult:
    with anyio.CancelScope(shield=True):
        deps = replace(deps, sink=_LastWords(deps.sink))
        result = await commit(state, deps, outcome, error)
        if result is not None:
            return await _ended(deps, result)
    raise AssertionError("commit with an outcome returns a result, and a shielded scope is not left early")


async def _ended(deps: TurnDeps, result: TurnResult) -> TurnResult:
    """Write and show the end. The turn is over: what fails here changes the result and nothing else."""
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


def _name(cls: type[TurnNode]) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


class _LastWords:
    """A sink for the end of a turn, which has nobody left to raise to: failures go to the log."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def emit(self, event: Event) -> None:
        try:
            await self._sink.emit(event)
        except SinkError as error:
            logger.warning("%s", error)


class _TypedSink:
    """A sink whose failures cannot be taken for a model's or a tool's."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def emit(self, event: Event) -> None:
        try:
            await self._sink.emit(event)
        except TurngraphError:
            raise
        except Exception as error:
            raise SinkError(f"the output could not be written ({type(error).__name__}: {error})") from error
