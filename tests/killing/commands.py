"""The command line, run in processes of these tests, with its own tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..scripted.replies import Reply, Step, call, calls, say
from .job import Job
from .stage import Left, Stage, said_by

ANSWER = "All is done."


def work() -> list[Step]:
    """A turn that reads, writes, runs commands side by side with reading, and calls in its text."""
    return [
        calls(call("list_dir"), _run(1), call("write_file", path="new.txt", content="new\n"), call("list_dir")),
        Reply(text=f'<tool_call>{{"name": "bash", "arguments": {{"command": "{_effect(2)}"}}}}</tool_call>'),
        Reply(),
        calls(_run(3), call("no_such_tool")),
        say(ANSWER),
    ]


def _run(n: int) -> Any:
    return call("bash", command=_effect(n))


def _effect(n: int) -> str:
    return f"echo begin run {n} 0 >> ../effects; sleep 0.01; echo end run {n} 0 >> ../effects"


def command(stage: Stage, *args: str, **how: Any) -> Job:
    """A job that is a command line in the stage's folder; `run` gets what it needs besides its prompt."""
    workspace = stage.folder / "workspace"
    workspace.mkdir(exist_ok=True)
    settings = stage.folder / "settings.toml"
    settings.touch()
    model = ("--model", "openai:scripted", "--base-url", stage.server.base_url)
    words = (*args, *model, "--cwd", str(workspace), "--policy", "auto") if args[0] == "run" else args
    env = {
        "HOME": str(stage.folder),
        "TURNGRAPH_STORE": str(stage.store_path),
        "TURNGRAPH_CONFIG": str(settings),
    }
    return stage.job(argv=(*words, "--output", "json"), env=env, **how)


def perform(stage: Stage, job: Job) -> tuple[Left, dict[str, Any]]:
    """Run a command line to its end; how it left, and its JSON document."""
    left = stage.wait(stage.start(job))
    out = Path(f"{job.report}.out").read_text()
    assert "Traceback" not in said_by(job)
    return left, json.loads(out) if out else {}
