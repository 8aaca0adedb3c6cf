"""The named points of a turn at which a process of these tests can be struck: killed, stopped, or out of disk.

A point is `WHERE:ROLE` and perhaps what is done there: `before:stream`, `middle:execute:change`. WHERE is

- `before`: the node was entered and has done nothing yet
- `middle`: half of what the node does is done
- `unrecorded`: something came of the node, and its row is not written yet
- `seal`: a row of the node is inserted, and may or may not be committed
"""

from __future__ import annotations

import os
import resource
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from turngraph.flows import runner
from turngraph.flows.flow import STANDARD
from turngraph.flows.store import TurnWriter
from turngraph.flows.store.database import Database
from turngraph.nodes import asking, dispatch, persist, prepare_history, process_node
from turngraph.nodes.node import TurnNode

ROLES = ("prepare_history", "stream", "process_node", "dispatch", "execute", "persist")
WHERE = ("before", "middle", "unrecorded", "seal")
FULL_DISK = "full disk"
"""What may happen at a point besides a signal: no file that the process has open can grow."""


class Points:
    """Counts the points that are passed, and strikes at one of them when it is passed for the n-th time."""

    def __init__(self, at: str, nth: int, then: str, store: Path) -> None:
        self.passed = Counter[str]()
        self.role = "begin"
        self._at = at
        self._nth = nth
        self._then = then
        self._store = store
        self._writing: set[str] = set()

    def reach(self, point: str) -> None:
        self.passed[point] += 1
        if point != self._at or self.passed[point] != self._nth:
            return
        if self._then == FULL_DISK:
            sizes = [file.stat().st_size for file in self._store.parent.glob(f"{self._store.name}*")]
            resource.setrlimit(resource.RLIMIT_FSIZE, (max(sizes), resource.RLIM_INFINITY))
        else:
            os.kill(os.getpid(), signal.Signals[self._then])

    def install(self) -> None:
        """Put the points into the code of this process, for as long as it lives."""
        assert STANDARD.graph  # built from the nodes as they are, before they are watched
        assert STANDARD.graph_hash
        for cls in STANDARD.lineup.values():
            self._watch_node(cls)
        self._watch_calls(prepare_history, "prune", "middle:prepare_history")
        self._watch_calls(asking, "delta_of", "middle:stream")
        self._watch_calls(process_node, "split_thoughts", "middle:process_node")
        self._watch_calls(dispatch, "effect_of", "middle:dispatch")
        self._watch_calls(dispatch, "check", "middle:dispatch")
        self._watch_calls(persist, "commit", "middle:persist")
        self._watch_calls(runner, "abandon", "before:abandon")
        for name in ("repair", "prune", "message", "result", "seal"):
            self._watch_rows(name)
        self._watch_commits()

    def _watch_node(self, cls: type[TurnNode]) -> None:
        run: Any = cls.run

        @wraps(run)
        async def watched(node: TurnNode, ctx: Any) -> Any:
            self.role = node.role
            self.reach(f"before:{node.role}")
            following = await run(node, ctx)
            self.reach(f"unrecorded:{node.role}")
            return following

        setattr(cls, "run", watched)  # noqa: B010 - a class is given another method on purpose

    def _watch_calls(self, module: Any, name: str, point: str) -> None:
        call: Callable[..., Any] = getattr(module, name)

        @wraps(call)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self.reach(point)
            return call(*args, **kwargs)

        setattr(module, name, watched)

    def _watch_rows(self, name: str) -> None:
        write: Callable[..., Any] = getattr(TurnWriter, name)

        @wraps(write)
        def watched(log: TurnWriter, *args: Any, **kwargs: Any) -> Any:
            tool = f":{args[1].call.tool_name}" if name == "result" and self.role == "execute" else ""
            self.reach(f"unrecorded:{self.role}{tool}")
            return write(log, *args, **kwargs)

        setattr(TurnWriter, name, watched)

    def _watch_commits(self) -> None:
        """A row that waits is written with a row of a later node, so a commit belongs to the nodes of all its rows."""
        insert: Any = Database.insert
        insert_one: Any = Database._insert  # pyright: ignore[reportPrivateUsage]

        @wraps(insert)
        def watched(database: Database, sql: str, rows: Sequence[Sequence[Any]], **kwargs: Any) -> Any:
            visited = {role for row in rows if row[3] == "visit" for role in ROLES if f'"role":"{role}"' in row[5]}
            self._writing = {self.role, *visited} if "WHERE" in sql else set()
            row = insert(database, sql, rows, **kwargs)
            self._reach_all("committed")
            self._writing = set()
            return row

        @wraps(insert_one)
        def watched_one(database: Database, *args: Any) -> Any:
            row = insert_one(database, *args)
            self._reach_all("inserted")
            return row

        setattr(Database, "insert", watched)  # noqa: B010 - as above
        setattr(Database, "_insert", watched_one)  # noqa: B010 - as above

    def _reach_all(self, what: str) -> None:
        for role in sorted(self._writing):
            self.reach(f"seal:{role}:{what}")
