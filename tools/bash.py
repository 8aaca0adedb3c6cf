"""The tool bash: a shell command in the workspace."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated

from pydantic import Field
from pydantic_ai.exceptions import ToolFailed

from .argument import refuse_unpassable
from .process import Finished, run_command
from .progress import report
from .secret import names_a_secret
from .wording import count
from .workspace import Workspace

_NOBODY_THERE = {
    "NO_COLOR": "1",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
}


def tool(workspace: Workspace) -> Callable[..., Awaitable[str]]:
    """The tool, bound to a workspace."""

    async def bash(command: str, timeout: Annotated[int, Field(ge=1, le=300)] = 30) -> str:  # noqa: ASYNC109
        """Run a shell command in the workspace's directory and return its output and exit code.

        stdout and stderr come merged. Of a long output the first 12,000 and the last 24,000 bytes are kept. There is
        no stdin and no terminal, variables that look like secrets are not passed on, and every process the command
        leaves running is ended when it returns: there are no background jobs.

        Args:
            command: The command line, for bash.
            timeout: After how many seconds the command is killed, 1 to 300.
        """
        refuse_unpassable(command, "command")
        finished = await run_command(
            [shutil.which("bash") or "/bin/sh", "-c", command],
            cwd=workspace.root,
            env=environment(os.environ),
            limit=timeout,
            tell=report,
        )
        text = _describe(finished, timeout)
        if finished.code is None:
            raise ToolFailed(text)
        return text

    return bash


def environment(parent: Mapping[str, str]) -> dict[str, str]:
    """The parent's environment without what looks secret, set up for a shell that nobody watches."""
    return {name: value for name, value in parent.items() if not names_a_secret(name)} | _NOBODY_THERE


def _describe(finished: Finished, timeout: int) -> str:
    if finished.code is None:
        how = f"timed out after {timeout} s and was killed; give a longer timeout (at most 300) or do less at once"
    elif finished.code < 0:
        how = f"killed by signal {_signal_name(-finished.code)}"
    else:
        how = f"exit code {finished.code}"
    notes = [f"[{how}; {finished.seconds:.1f} s]"]
    if finished.leftovers and finished.code is not None:
        notes.append(f"[left running and killed: {count(finished.leftovers, 'process', 'processes')}]")
    output = finished.output.text().rstrip("\n")
    return "\n".join([*notes, output or "[no output]"])


def _signal_name(number: int) -> str:
    """Most real-time signals have a number and no name."""
    return signal.Signals(number).name if number in set(signal.Signals) else str(number)
