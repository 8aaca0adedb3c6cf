"""The command line in a process of its own, with a private store, settings file, home and workspace."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from turngraph.flows.store import Store
from turngraph.nodes.history.stamp import unstamp

from .server import ScriptedServer

PATIENCE = 60.0
"""Seconds that a process may take before a test gives it up."""


@dataclass(frozen=True)
class Finished:
    """What a process left."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document of `--output json`."""
        return json.loads(self.stdout)

    @property
    def complaints(self) -> list[str]:
        """The lines on stderr in which the program says why it ended."""
        return [line for line in self.stderr.splitlines() if line.startswith("turngraph: ")]


class Workbench:
    """A workspace and a store under `root`, and the command line that uses both."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "workspace"
        self.store_path = root / "data" / "store.db"
        self.settings = root / "settings.toml"
        self.workspace.mkdir()
        self.settings.touch()

    def write(self, name: str, text: str) -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    @contextmanager
    def start(
        self,
        *args: str,
        wrapper: Sequence[str] = (),
        env: dict[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> Generator[subprocess.Popen[str]]:
        """Start `turngraph ARGS`; whatever is left of it at the end of the block is killed."""
        process = subprocess.Popen(
            [*wrapper, sys.executable, "-m", "turngraph", *args],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            encoding="utf-8",
            errors="backslashreplace",
            env={**self._environment(), **(env or {})},
            cwd=self.root,
            start_new_session=True,
        )
        with process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def run(
        self,
        *args: str,
        stdin: str | None = None,
        wrapper: Sequence[str] = (),
        env: dict[str, str] | None = None,
    ) -> Finished:
        given = subprocess.DEVNULL if stdin is None else subprocess.PIPE
        with self.start(*args, wrapper=wrapper, env=env, stdin=given) as process:
            return finish(process, stdin)

    def turn(self, prompt: str, server: ScriptedServer, *args: str, **how: Any) -> Finished:
        return self.run(*self.command(prompt, server, *args), **how)

    def command(self, prompt: str, server: ScriptedServer, *args: str) -> list[str]:
        """The arguments of one turn against the scripted server; later options win over the first ones."""
        words = {
            "--model": "openai:scripted",
            "--base-url": server.base_url,
            "--cwd": str(self.workspace),
            "--policy": "auto",
            "--output": "json",
        }
        chosen = [word for name, value in words.items() if name not in args for word in (name, value)]
        return ["run", prompt, *chosen, *args]

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.root),
            "LANG": "C.UTF-8",
            "TURNGRAPH_STORE": str(self.store_path),
            "TURNGRAPH_CONFIG": str(self.settings),
        }

    def history(self, session: str) -> list[ModelMessage]:
        """The messages that a next turn would see, by the public API."""
        with Store.open(self.store_path) as store:
            loaded = store.load_messages(session)
        assert loaded.skipped == 0
        return loaded.messages

    def log(self, kind: str, turn: str | None = None) -> list[dict[str, Any]]:
        """The facts of the stored rows of a kind, read past the store's own code."""
        query = """SELECT facts FROM log WHERE kind = ?1
            AND (?2 IS NULL OR turn = (SELECT id FROM log WHERE kind = 'turn' AND name = ?2)) ORDER BY id"""
        with closing(sqlite3.connect(self.store_path)) as connection:
            return [json.loads(facts) for (facts,) in connection.execute(query, (kind, turn))]

    def visits(self, turn: str | None = None) -> list[str]:
        """The roles a turn visited, in order."""
        return [row["role"] for row in self.log("visit", turn)]


def outline(messages: Sequence[ModelMessage]) -> list[str]:
    """What was said, one line a part: `user: hi`, `text: Hello.`, `call: grep`, `result: grep success`, `cut off`."""
    return [_line(part) for message in messages for part in message.parts]


def _line(part: ModelRequestPart | ModelResponsePart) -> str:
    match part:
        case UserPromptPart(content=str() as text) if text.startswith("[The request above was left without"):
            return "cut off"
        case UserPromptPart(content=str() as text):
            return f"user: {unstamp(text)}"
        case TextPart(content=text):
            return f"text: {text}"
        case ToolCallPart(tool_name=name):
            return f"call: {name}"
        case ToolReturnPart(tool_name=name, outcome=outcome):
            return f"result: {name} {outcome}"
        case _:
            return part.part_kind


def finish(process: subprocess.Popen[str], stdin: str | None = None) -> Finished:
    """Wait for a process and collect what it left; a traceback fails whatever the test is about."""
    stdout, stderr = (text or "" for text in process.communicate(stdin, timeout=PATIENCE))
    for sign in ("Traceback", "Exception ignored", "never awaited", "never retrieved"):
        assert sign not in stderr, stderr
    return Finished(process.returncode, stdout, stderr)


def wait_for(happened: Callable[[], object], what: str) -> None:
    """Wait until something is true of another process.

    Raises:
        TimeoutError: it did not become true in `PATIENCE` seconds.
    """
    deadline = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE:.0f} s in vain until {what}")
        time.sleep(0.02)
