from __future__ import annotations

import json
import os
import secrets
import signal
import time
from pathlib import Path

import anyio
import pytest
from pydantic_ai.exceptions import ToolFailed
from turngraph.tools import bash
from turngraph.tools.progress import reporting
from turngraph.tools.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def nap() -> str:
    """A sleep that no other process on the machine is in."""
    return f"sleep 9{secrets.randbelow(10**8):08d}"


async def output(workspace: Workspace, command: str, timeout: int = 20) -> str:  # noqa: ASYNC109
    return (await bash.tool(workspace)(command, timeout)).split("\n", 1)[1]


def alive(marker: str) -> list[str]:
    """Command lines of living processes that hold a marker."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if marker in line:
                found.append(line)
    return found


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_output_comes_merged_in_order_with_the_exit_code(workspace: Workspace) -> None:
    text = await bash.tool(workspace)("echo out; echo err >&2; echo out2; exit 3")
    assert text.startswith("[exit code 3; ")
    assert text.split("\n")[1:] == ["out", "err", "out2"]


async def test_it_runs_in_the_workspace(workspace: Workspace, root: Path) -> None:
    assert await output(workspace, "pwd -P") == str(root)


async def test_nothing_waits_for_a_person(workspace: Workspace) -> None:
    """T4-09: no stdin, no terminal, no prompts."""
    began = time.monotonic()
    assert await output(
        workspace, 'read -p "Password: " x; echo "[$x] $?"; (: < /dev/tty) 2>/dev/null || echo none'
    ) == ("[] 1\nnone")
    assert await output(workspace, 'echo "$GIT_TERMINAL_PROMPT $NO_COLOR $TERM"') == "0 1 dumb"
    assert time.monotonic() - began < 10


async def test_secrets_are_not_passed_on(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "gh_token", "DB_PASSWORD", "AWS_SECRET", "MY_CREDENTIALS"):
        monkeypatch.setenv(name, "hush-hush")
    monkeypatch.setenv("HARMLESS", "seen")
    text = await output(workspace, "env")
    assert "hush-hush" not in text
    assert "HARMLESS=seen" in text


async def test_bytes_that_are_no_text_are_shown(workspace: Workspace) -> None:
    """T4-11."""
    text = await output(workspace, r"printf '\xff\xfe\x00abc\xc3\xa9'")
    assert text == "\\xff\\xfe\\x00abcé"
    json.dumps(text).encode()


async def test_binary_output_does_not_touch_the_next_command(workspace: Workspace) -> None:
    """T4-12."""
    (await output(workspace, "head -c 5000 /dev/urandom")).encode()
    assert await output(workspace, "echo ok") == "ok"


async def test_head_and_tail_of_a_long_output_are_kept(workspace: Workspace) -> None:
    """T4-13: the error at the end is seen, and the exit code stands outside the cut text."""
    text = await bash.tool(workspace)(
        "echo start; head -c 200000 /dev/zero | tr '\\0' x; echo; echo error: failed; exit 1"
    )
    assert text.startswith("[exit code 1; ")
    assert "\nstart\n" in text
    assert text.endswith("error: failed")
    assert "164,021 bytes of output left out" in text
    assert len(text) < 40_000


async def test_endless_output_is_bounded_in_memory_and_time(workspace: Workspace) -> None:
    with pytest.raises(ToolFailed, match="bytes of output left out"):
        await bash.tool(workspace)("yes", 1)


async def test_escapes_are_stripped(workspace: Workspace) -> None:
    text = await output(workspace, r"printf '\e[31mred\e[0m \e]8;;http://x\e\\link\e]8;;\a 10%%\r20%%\n'")
    assert text == "red link 10%\n20%"


async def test_a_command_ends_when_it_exits(workspace: Workspace) -> None:
    """T4-10."""
    began = time.monotonic()
    for _ in range(50):
        assert await output(workspace, "true") == "[no output]"
    assert time.monotonic() - began < 30


async def test_a_signal_is_named(workspace: Workspace) -> None:
    assert "killed by signal SIGKILL" in await bash.tool(workspace)("kill -9 $$")


@pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="there are no real-time signals here")
async def test_a_signal_without_a_name_is_told_by_its_number(workspace: Workspace) -> None:
    number = signal.SIGRTMIN + 1
    assert f"killed by signal {number};" in await bash.tool(workspace)(f"kill -{number} $$")


async def test_a_timeout_says_so_and_keeps_the_output(workspace: Workspace) -> None:
    with pytest.raises(ToolFailed, match=r"timed out after 1 s(.|\n)*partial"):
        await bash.tool(workspace)("echo partial; sleep 60", 1)


async def test_a_timeout_ends_every_child(workspace: Workspace, nap: str) -> None:
    """T4-05: background children do not survive."""
    with pytest.raises(ToolFailed, match="timed out"):
        await bash.tool(workspace)(f"for i in 1 2; do {nap} & done; {nap}", 1)
    assert alive(nap) == []


@pytest.mark.parametrize(
    "left",
    [
        "NAP &",
        '(trap "" TERM; NAP; NAP) &',
        "setsid NAP > /dev/null 2>&1 &",
        "nohup NAP > /dev/null 2>&1 & disown",
    ],
)
async def test_what_a_command_leaves_running_is_ended_and_said(workspace: Workspace, left: str, nap: str) -> None:
    """T4-06: neither a held pipe nor an ignored SIGTERM nor a session of its own keeps the call open."""
    began = time.monotonic()
    text = await bash.tool(workspace)(f"{left.replace('NAP', nap)} sleep 0.2; echo done")
    assert time.monotonic() - began < 8
    assert "[exit code 0; " in text
    assert "left running and killed: " in text
    assert text.endswith("done")
    assert alive(nap) == []


@pytest.mark.parametrize(
    "stays",
    [
        "NAP & NAP",
        "trap '' TERM; NAP; NAP",
        '(trap "" TERM HUP INT; NAP; NAP) & NAP',
        "setsid NAP & NAP",
        "setsid sh -c 'trap \"\" TERM; NAP; NAP' & NAP",
        "(while :; do :; done) & (while :; do :; done)",
        "exec 3>&1; (NAP >&3 2>&3 &) ; exec >/dev/null; NAP",
    ],
)
async def test_a_timeout_ends_in_bounded_time_whoever_stays(workspace: Workspace, nap: str, stays: str) -> None:
    """T4-05, T4-06: the second that was allowed, half a second to end politely, and a little to be killed."""
    began = time.monotonic()
    with pytest.raises(ToolFailed, match=r"timed out after 1 s(.|\n)*begun"):
        await bash.tool(workspace)(f"echo begun; : {nap}; {stays.replace('NAP', nap)}", 1)
    assert time.monotonic() - began < 1 + 4
    assert alive(nap) == []


@pytest.mark.parametrize("stays", ["trap '' TERM; NAP; NAP", "setsid NAP & NAP", '(trap "" TERM; NAP; NAP) & NAP'])
async def test_cancelling_ends_in_bounded_time_whoever_stays(workspace: Workspace, nap: str, stays: str) -> None:
    """T4-19."""
    began = time.monotonic()
    with anyio.move_on_after(0.5) as scope:
        await bash.tool(workspace)(f": {nap}; {stays.replace('NAP', nap)}", 60)
    assert scope.cancelled_caught
    assert time.monotonic() - began < 0.5 + 4
    assert alive(nap) == []


async def test_a_pipe_held_by_one_who_escaped_does_not_hold_the_call(workspace: Workspace) -> None:
    """T4-06: reading the output ends a bounded time after the shell, whoever still has the pipe."""
    began = time.monotonic()
    text = await bash.tool(workspace)("env -i setsid sleep 6 & echo done; sleep 0.2")
    assert text.endswith("done")
    assert time.monotonic() - began < 5


async def test_cancelling_ends_the_command_before_it_returns(workspace: Workspace, root: Path) -> None:
    """T4-19: no line is written after the cancellation has returned."""
    with anyio.move_on_after(0.5) as scope:
        await bash.tool(workspace)('trap "" TERM; while :; do echo line >> log; sleep 0.05; done', 60)
    assert scope.cancelled_caught
    size = (root / "log").stat().st_size
    assert size > 0
    await anyio.sleep(0.3)
    assert (root / "log").stat().st_size == size


async def test_progress_tells_the_last_line(workspace: Workspace) -> None:
    told: list[str] = []

    async def hear(text: str) -> None:
        told.append(text)

    with reporting(hear):
        await bash.tool(workspace)("for i in 1 2 3; do echo step $i; sleep 0.3; done")
    assert told == ["step 1", "step 2", "step 3"]


async def test_a_reporter_that_fails_ends_the_command_with_its_own_error(workspace: Workspace, nap: str) -> None:
    async def fail(text: str) -> None:
        raise RuntimeError("sink broke")

    with reporting(fail), pytest.raises(RuntimeError, match="sink broke"):
        await bash.tool(workspace)(f"echo x; {nap}", 60)
    assert alive(nap) == []


async def test_no_descriptor_is_left(workspace: Workspace) -> None:
    await output(workspace, "true")
    before = open_descriptors()
    for _ in range(5):
        await output(workspace, "true")
    assert open_descriptors() == before


async def test_what_no_command_line_can_carry_is_refused(workspace: Workspace) -> None:
    with pytest.raises(ToolFailed, match="NUL"):
        await bash.tool(workspace)("echo \0")
    with pytest.raises(ToolFailed, match="lone surrogate"):
        await bash.tool(workspace)("echo \ud800")
