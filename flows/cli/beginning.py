"""How the turns of the command line begin: with a prompt, where one was cut off, or at a visit of another."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...nodes.deps import Limits
from ...nodes.errors import UsageError
from ...nodes.outcome import TurnResult
from ..asked import Asked, PolicyName, asked_in
from ..prompt import system_prompt
from ..resume import limits_of, resume_turn
from ..runner import run_turn
from ..settings import Resolved, Settings, load_settings, resolve_settings
from ..store import Store, TurnHead
from ..trees import Trees
from .options import Chosen, Shown
from .perform import Plan, Staged, listen_to_debug, perform
from .run import RunOptions

_POLICIES: dict[str, PolicyName] = {"ReadOnly": "read-only", "AskFirst": "ask", "Auto": "auto"}


def run_once(options: RunOptions) -> int:
    """Run one turn from a prompt, show it, and return its exit code.

    Raises:
        TurngraphError: nothing ran: a wrong setting, model or session, a busy session, a broken store.
    """
    listen_to_debug(options.shown)
    resolved = resolved_for(options)
    asked, limits = asked_by(options.chosen, resolved), limits_in(resolved.settings)
    prompt = None if asked.agent else system_prompt(options.workdir)
    with Store.open(resolved.settings.store) as store:
        session, trees = _session(store, options), Trees.of(resolved.settings.store)

        async def begin(staged: Staged) -> TurnResult:
            return await run_turn(
                options.prompt.text,
                model=staged.cast.model,
                toolsets=staged.cast.toolsets,
                flow=staged.cast.flow,
                sink=staged.sink,
                store=store,
                session=session,
                policy=staged.policy,
                limits=limits,
                instructions="" if prompt is None else prompt.text,
                workdir=options.workdir,
                interrupt=staged.interrupt,
                trees=trees,
                asked=asked.as_json(),
                debug=options.shown.debug,
            )

        plan = Plan(
            asked=asked,
            workdir=options.workdir,
            begin=begin,
            notes=options.prompt.notes,
            warnings=[*options.prompt.warnings, *resolved.notices, *(prompt.notices if prompt else ())],
            model_cache=options.chosen.cache,
        )
        return perform(plan, options.shown)


def resume_once(turn: str | None, chosen: Chosen, how: Shown, *, last: bool, accept_graph_change: bool) -> int:
    """Go on with a turn that was cut off, by default the one of this directory; show it, and return its exit code.

    Raises:
        TurngraphError: nothing ran: no such turn, one that has ended or still runs, another graph, or as `run_once`.
    """
    listen_to_debug(how)
    settings = load_settings()
    with Store.open(settings.store) as store:
        turn_id = _cut_off(store, last=last) if turn is None else store.find_turn(turn)
        head = store.turn_body(turn_id).head
        asked = asked_again(head, chosen, settings)
        limits = replace(limits_of(head), **chosen.limits)
        trees = Trees.of(settings.store)

        async def begin(staged: Staged) -> TurnResult:
            return await resume_turn(
                turn_id,
                store=store,
                model=staged.cast.model,
                toolsets=staged.cast.toolsets,
                flow=staged.cast.flow,
                sink=staged.sink,
                policy=staged.policy,
                limits=limits,
                interrupt=staged.interrupt,
                trees=trees,
                accept_graph_change=accept_graph_change,
                debug=how.debug,
            )

        plan = Plan(asked=asked, workdir=workdir_of(head), begin=begin, model_cache=chosen.cache)
        return perform(plan, how)


def asked_again(head: TurnHead, chosen: Chosen, settings: Settings) -> Asked:
    """What a recorded turn was asked for, with what is chosen now in its place.

    Raises:
        UsageError: a program of somebody's own began the turn, so that more must be said.
    """
    recorded = asked_in(head.asked) or _of_a_program(head, chosen)
    flow = (
        recorded.with_swaps(chosen.swap or ())
        if chosen.flow is None
        else {"flow": chosen.flow, "flows": _flows(settings), "swaps": chosen.swap or ()}
    )
    given: dict[str, Any] = {"model": chosen.model, "policy": chosen.policy, "agent": chosen.agent}
    if chosen.base_url is not None:
        flow = {**flow, "base_url": chosen.base_url or None}
    return replace(recorded, **flow, **{name: value for name, value in given.items() if value is not None})


def workdir_of(head: TurnHead) -> Path:
    """Where a recorded turn worked.

    Raises:
        UsageError: the directory is gone.
    """
    workdir = Path(head.workdir)
    if not workdir.is_dir():
        raise UsageError(f"turn {head.turn_id} worked in {workdir}, which is gone; bring it back first")
    return workdir


def _of_a_program(head: TurnHead, chosen: Chosen) -> Asked:
    """What is known of a turn that no command line asked for."""
    lacking = [] if chosen.model or chosen.agent else ["--model"]
    lacking += [] if chosen.policy or head.policy in _POLICIES else ["--policy"]
    if lacking:
        raise UsageError(
            f"turn {head.turn_id} was begun by a program, or was imported, so its record does not tell how to go on "
            f"with it; give {' and '.join(lacking)}"
        )
    return Asked(model=None, policy=_POLICIES.get(head.policy, "ask"))


def _cut_off(store: Store, *, last: bool) -> str:
    """The one turn of this directory that has no end, or the last of them.

    Raises:
        UsageError: there is none, or there are several.
    """
    here = str(Path.cwd())
    found = [
        turn
        for one in store.sessions()
        if one.workdir == here and one.turns and one.last_outcome is None
        if (turn := store.unfinished_turn(one.id)) is not None
    ]
    if len(found) == 1 or (found and last):
        return found[0]
    if not found:
        raise UsageError(f"no turn in {here} was cut off; `turngraph turn list` shows them all")
    listed = ", ".join(f"{turn[:8]} ({' '.join(store.turn_body(turn).said.split())[:40]})" for turn in found)
    raise UsageError(f"{len(found)} turns in {here} have no end: {listed}; give the ID of one, or --last")


def _session(store: Store, options: RunOptions) -> str | None:
    """The session of a run: one to go on with, a new fork of one, or `None` for a new one."""
    found = session_of(store, options)
    if found is None or options.fork is None:
        return found
    return store.create_session(str(options.workdir), after=store.branch_point(found))


def session_of(store: Store, options: RunOptions) -> str | None:
    """The session whose history a run begins with.

    Raises:
        UsageError: there is no such session.
    """
    named = options.session or options.fork
    if named is not None:
        return store.find_session(named)
    if not options.continue_:
        return None
    latest = store.latest_session(str(options.workdir))
    if latest is None:
        raise UsageError(f"there is no session in {options.workdir} to continue; leave --continue off")
    return latest


def resolved_for(options: RunOptions) -> Resolved:
    """The settings of a run."""
    chosen = options.chosen
    flags = {name: getattr(chosen, name) for name in ("model", "base_url", "policy", "flow")}
    return resolve_settings({**flags, **chosen.limits}, os.environ, options.workdir)


def asked_by(chosen: Chosen, resolved: Resolved) -> Asked:
    """Who plays in a run."""
    settings = resolved.settings
    own = chosen.agent is not None and resolved.each["model"].origin.kind == "default"
    return Asked(
        model=None if own else settings.model,
        base_url=settings.base_url,
        policy=settings.policy,
        flow=settings.flow,
        flows=_flows(settings),
        swaps=chosen.swap or (),
        agent=chosen.agent,
    )


def _flows(settings: Settings) -> dict[str, list[str]]:
    return {name: one.swap for name, one in settings.flows.items()}


def limits_in(settings: Settings) -> Limits:
    """The budgets of a run."""
    return Limits(
        max_iterations=settings.max_iterations,
        max_tokens=settings.max_tokens,
        max_total_tokens=settings.max_total_tokens,
        max_cost=settings.max_cost,
        timeout=settings.timeout,
        context_window=settings.context_window,
    )
