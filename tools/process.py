"""Run a shell command so that nothing of it outlives the call."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import anyio
from anyio.abc import Process

from .family import Family, end
from .output import Output

DRAIN_SECONDS = 1.0
REAP_SECONDS = 2.0
_TICK_SECONDS = 0.1
_CHUNK = 512 * 1024

Tell = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Finished:
    """How a command ended.

    `code` is negative for a signal and `None` where the time was up; `leftovers` counts the processes that it left
    running and that were killed.
    """

    code: int | None
    seconds: float
    output: Output
    leftovers: int


async def run_command(arguments: list[str], *, cwd: Path, env: Mapping[str, str], limit: float, tell: Tell) -> Finished:
    """Run a program for at most `limit` seconds in a session of its own, without stdin, and gather its merged output.

    `tell` gets the newest line, at most every 100 ms. When this returns, raises or is cancelled, the program and its
    descendants have been killed and the program reaped, within three seconds after the limit or the cancellation even
    if one of them ignores SIGTERM. Memory stays bounded: one chunk of 512 KiB beside what `Output` keeps.
    """
    began = anyio.current_time()
    output = Output()
    family = Family()
    reader, writer = _wide_pipe()
    try:
        try:
            process = await _start(arguments, writer, cwd, {**env, **family.mark})
        finally:
            os.close(writer)
        family.group = process.pid
        code, leftovers = await _supervise(process, family, reader, output, limit, tell)
    finally:
        os.close(reader)
    return Finished(code, anyio.current_time() - began, output, leftovers)


def _wide_pipe() -> tuple[int, int]:
    """A pipe that holds a whole chunk where the system allows it, so that a gigabyte takes few readings."""
    reader, writer = os.pipe()
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _CHUNK)
    return reader, writer


async def _start(arguments: list[str], writer: int, cwd: Path, env: Mapping[str, str]) -> Process:
    # Shielded: a cancellation between the fork and the return would lose the process.
    with anyio.CancelScope(shield=True):
        return await anyio.open_process(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
    raise AssertionError("a shielded scope ended early")


async def _supervise(
    process: Process, family: Family, reader: int, output: Output, limit: float, tell: Tell
) -> tuple[int | None, int]:
    code: int | None = None
    leftovers = 0
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_tell, output, tell)
            drained = anyio.Event()
            tasks.start_soon(_drain, reader, output, drained)
            with anyio.move_on_after(limit):
                code = await process.wait()
            leftovers = await end(family)
            with anyio.move_on_after(DRAIN_SECONDS):
                await drained.wait()
            tasks.cancel_scope.cancel()
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            await end(family)
            await _reap(process)
        if isinstance(error, BaseExceptionGroup):
            raise cast(BaseExceptionGroup[BaseException], error).exceptions[0] from error
        raise
    await _reap(process)
    return code, leftovers


async def _reap(process: Process) -> None:
    with anyio.move_on_after(REAP_SECONDS):
        await process.wait()


async def _drain(reader: int, output: Output, drained: anyio.Event) -> None:
    os.set_blocking(reader, False)
    while True:
        await anyio.wait_readable(reader)
        data = os.read(reader, _CHUNK)
        if not data:
            break
        output.add(data)
    drained.set()


async def _tell(output: Output, tell: Tell) -> None:
    told = 0
    while True:
        await anyio.sleep(_TICK_SECONDS)
        if output.size != told:
            told = output.size
            if line := output.last_line():
                await tell(line)
