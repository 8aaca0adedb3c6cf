"""What keeping costs: bytes on the disk, bytes written, memory to load them, and the end of a very long session."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
from pydantic_ai.messages import ModelMessagesTypeAdapter
from turngraph import Store
from turngraph.nodes.said import prompt_message

from .filling import NOON, filled, head, reply, text
from .table import Row
from .turns import Calling, adding, turn

TURNS = 1_000
JSON_BYTES = 4_500_000
KEPT = 1.6
WRITTEN = 8.0
MEMORY = 3.0
TAIL_MS = 100.0
_LOADED = 20_000_000
_LONG = 200_000_000
_TAIL = 2_000_000
_PART = 2_000_000


def rows(rounds: int, directory: Path) -> Iterator[Row]:
    """Bytes do not differ from round to round; the end of the long session is wall time, past an empty session's."""
    kept = _child("keep", directory / "kept.db")
    size, written, messages = ([kept[name] / 1e6] for name in ("size", "written", "messages"))
    yield Row(f"the store after {TURNS:,} turns", size, "their messages as JSON", messages, KEPT, "MB")
    yield Row(f"bytes written meanwhile, {TURNS:,} turns", written, "their messages as JSON", messages, WRITTEN, "MB")
    _child("fill", directory / "loaded.db")
    loaded = _child("load", directory / "loaded.db")
    yield Row("memory to load a session", [loaded["memory"] / 1e6], "its JSON", [loaded["size"] / 1e6], MEMORY, "MB")
    with Store.open(directory / "long.db") as store:
        session = _long(store)
        both = [(_turn(store, session), _turn(store, None)) for _ in range(rounds + 1)][1:]
    beyond = [max(ours - empty, 0.01) for ours, empty in both]
    what = f"the {_TAIL / 1e6:.0f} MB behind a summary of {_LONG / 1e6:.0f} MB, beyond an empty session, wall time"
    yield Row(what, beyond, "a tenth of a second", [TAIL_MS] * rounds, 1.0)


def _child(part: str, path: Path) -> dict[str, int]:
    """What a part of this module measures in a process of its own."""
    done = subprocess.run([sys.executable, "-m", __name__, part, str(path)], capture_output=True, check=True)
    return json.loads(done.stdout)


def _keep(path: Path) -> dict[str, int]:
    before = _bytes_written()
    with Store.open(path) as store:
        session = filled(store, 2 * TURNS, JSON_BYTES)
        messages = len(ModelMessagesTypeAdapter.dump_json(store.load_messages(session).messages))
    return {"size": path.stat().st_size, "written": _bytes_written() - before, "messages": messages}


def _bytes_written() -> int:
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["wchar"])


def _fill(path: Path) -> dict[str, int]:
    with Store.open(path) as store:
        filled(store, 10_000, _LOADED)
    return {}


def _load(path: Path) -> dict[str, int]:
    with Store.open(path) as store:
        session = store.sessions()[0].id
        first = store.create_session("")
        store.load_messages(filled(store, 10, 1_000, session=first))
        Path("/proc/self/clear_refs").write_text("5")
        before = _peak()
        messages = store.load_messages(session).messages
        memory = _peak() - before
    return {"memory": memory, "size": len(ModelMessagesTypeAdapter.dump_json(messages))}


def _peak() -> int:
    """Bytes of memory at most, since the count was begun anew."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _long(store: Store) -> str:
    """A session of two hundred megabytes, a summary, and two more."""
    session = filled(store, 2 * _LONG // _PART, _LONG)
    with store.begin_turn(head(session), prompt_message("go on", NOON)) as log:
        summary = log.message(prompt_message(text(2_000, 0), NOON))
        log.compact(summary, 0)
        log.seal(1, [log.prompt_row, log.message(reply(1_000, 0))])
    return filled(store, 1_000, _TAIL, session=session)


def _turn(store: Store, session: str | None) -> float:
    began = time.perf_counter()
    anyio.run(_run, store, session)
    return (time.perf_counter() - began) * 1000


async def _run(store: Store, session: str | None) -> None:
    await turn(store, Calling(0), adding(), session=session)


_PARTS: dict[str, Callable[[Path], dict[str, int]]] = {"keep": _keep, "fill": _fill, "load": _load}

if __name__ == "__main__":
    print(json.dumps(_PARTS[sys.argv[1]](Path(sys.argv[2]))))
