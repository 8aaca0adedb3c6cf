"""Which fields of the state each node writes, as seen in scripted turns that touch nothing outside."""

from __future__ import annotations

import anyio

from .flow import Flow
from .store import Store
from .testing.model import ScriptedModel
from .testing.scripts import SCRIPTS
from .testing.stage import staged
from .testing.walk import Boundary, walk


def observed_writes(flow: Flow) -> dict[str, tuple[str, ...]]:
    """The fields that each role was seen to change; a role that no script reached is left out.

    Raises:
        AssertionError: a node broke the contract of `turngraph.testing`; the text says how.
    """
    seen: dict[str, dict[str, None]] = {}

    def look(boundary: Boundary) -> None:
        changed = [name for name in boundary.after if name in boundary.written and name != "agent_state"]
        seen.setdefault(boundary.role, {}).update(dict.fromkeys(changed))

    async def play() -> None:
        with Store.in_memory() as store:
            for number, script in enumerate(SCRIPTS):
                session = store.create_session("")
                async with staged(flow, ScriptedModel(*script.replies), store, session, f"{number:032x}") as stage:
                    await walk(flow, stage, look=look)

    anyio.run(play)
    return {role: tuple(names) for role, names in seen.items()}
