"""A turn tried differently from one of its visits on, for `turngraph turn fork`."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from ...nodes.errors import TurngraphError, UsageError
from ...nodes.outcome import TurnResult
from ..asked import Asked
from ..files_at import tree_at
from ..fork import fork_turn
from ..prompt import system_prompt
from ..resume import limits_of
from ..runs import named_turn
from ..settings import load_settings
from ..store import Store, TurnHead
from ..trees import Trees
from .beginning import asked_again, workdir_of
from .options import Chosen, Shown
from .perform import Plan, Staged, listen_to_debug, perform
from .prompt import Prompt


@dataclass(frozen=True, kw_only=True)
class ForkOptions:
    """One `turngraph turn fork`: `worktree` is where the files go, `here` to work on those of now instead."""

    turn: str | None
    at: int
    prompt: Prompt | None
    worktree: Path | None
    here: bool
    chosen: Chosen
    shown: Shown


@dataclass(frozen=True)
class _Place:
    """Where a fork works. `made` is the worktree that was made for it."""

    workdir: Path
    note: str
    made: Path | None = None


def fork_once(options: ForkOptions) -> int:
    """Run a new turn from a visit of another, show it, and return its exit code.

    Raises:
        TurngraphError: nothing ran: no such turn or visit, files that cannot be restored, or as `run_once`.
    """
    listen_to_debug(options.shown)
    settings = load_settings()
    with Store.open(settings.store) as store:
        turn_id = named_turn(store, options.turn)
        head = store.turn_body(turn_id).head
        asked = asked_again(head, options.chosen, settings)
        limits = replace(limits_of(head), **options.chosen.limits)
        trees = Trees.of(settings.store)
        with _placed(store, trees, settings.store, head, asked, options) as place:
            # The recorded instructions name the directory of the turn that this one is forked from.
            instructions = system_prompt(place.workdir).text if place.made and head.asked and not asked.agent else None

            async def begin(staged: Staged) -> TurnResult:
                return await fork_turn(
                    turn_id,
                    options.at,
                    store=store,
                    model=staged.cast.model,
                    toolsets=staged.cast.toolsets,
                    flow=staged.cast.flow,
                    prompt=None if options.prompt is None else options.prompt.text,
                    sink=staged.sink,
                    policy=staged.policy,
                    limits=limits,
                    instructions=instructions,
                    workdir=place.workdir,
                    interrupt=staged.interrupt,
                    trees=trees,
                    asked=asked.as_json(),
                    debug=options.shown.debug,
                )

            plan = Plan(
                asked=asked,
                workdir=place.workdir,
                begin=begin,
                notes=[place.note],
                warnings=() if options.prompt is None else options.prompt.warnings,
                model_cache=options.chosen.cache,
            )
            return perform(plan, options.shown)


@contextmanager
def _placed(
    store: Store, trees: Trees, store_path: Path, head: TurnHead, asked: Asked, options: ForkOptions
) -> Generator[_Place]:
    """The directory to work in; a worktree is taken away again where nothing ran in it."""
    source = workdir_of(head)
    place = _here(head, asked, options, source, tree_at(store, head.turn_id, options.at))
    if isinstance(place, str):
        into = options.worktree or store_path.parent / "worktrees" / f"{head.turn_id[:8]}-{secrets.token_hex(4)}"
        into = into.expanduser().absolute()
        commit = place
        workdir = anyio.run(lambda: trees.restore(commit, source, into))
        note = f"the files are those of visit {options.at}, in the worktree {into}; `git worktree remove` takes it away"
        place = _Place(workdir, note, into)
    try:
        yield place
    except TurngraphError:
        if place.made is not None:
            _remove(place.made, source)
        raise


def _here(head: TurnHead, asked: Asked, options: ForkOptions, source: Path, commit: str | None) -> _Place | str:
    """The turn's own directory with the files of now, or the snapshot to restore.

    Raises:
        UsageError: there is no snapshot, and the files of now were not asked for.
    """
    now = _Place(source, f"the files are those of now, in {source}")
    if options.here:
        return now
    if commit is not None:
        return commit
    missing = f"the files of visit {options.at} of turn {head.turn_id} were not recorded"
    if options.worktree is not None:
        raise UsageError(f"{missing}, so {options.worktree} cannot hold them; give --here to work on those of now")
    if asked.policy == "read-only":
        return now
    raise UsageError(f"{missing}; give --here to let the fork work on those of now, or --policy read-only")


def _remove(worktree: Path, source: Path) -> None:
    command = ["git", "-C", str(source), "worktree", "remove", "--force", str(worktree)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:  # before the first commit it is a repository of its own
        shutil.rmtree(worktree, ignore_errors=True)
