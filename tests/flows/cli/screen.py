"""The command line at a terminal of its own, which is also its controlling one."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 30.0
_WITH_STDIN = "import os, sys; os.dup2(int(sys.argv[1]), 0); os.execv(sys.argv[2], sys.argv[2:])"
_STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Screen:
    """What the process shows, and the keyboard."""

    def __init__(self, process: subprocess.Popen[bytes], fd: int) -> None:
        self.process = process
        self._fd = fd
        self._seen = bytearray()

    @property
    def text(self) -> str:
        return self._seen.decode(errors="replace").replace("\r\n", "\n")

    @property
    def plain(self) -> str:
        return _STYLE.sub("", self.text)

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in self.plain:
            assert time.monotonic() < deadline, f"{text!r} did not appear in:\n{self.text}"
            self._read(0.1)

    def end(self) -> int:
        """Wait for the end of the process; its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"the process did not end; it showed:\n{self.text}"
            self._read(0.05)
        while self._read(0.05):
            pass
        for sign in ("Traceback", "Exception ignored", "never awaited"):
            assert sign not in self.text, self.text
        return self.process.returncode

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        self._seen += data
        return bool(data)


@contextmanager
def at_a_terminal(
    *args: str,
    cwd: Path,
    env: Mapping[str, str],
    columns: int = 80,
    stdout: int | None = None,
    stdin: int | None = None,
) -> Generator[Screen]:
    """Start `turngraph ARGS` at a new terminal; `stdout` and `stdin` may go elsewhere.

    It is killed at the end of the block.
    """
    keyboard, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    piped = [] if stdin is None else [sys.executable, "-c", _WITH_STDIN, str(stdin)]
    process = subprocess.Popen(
        ["setsid", "--ctty", *piped, sys.executable, "-m", "turngraph", *args],
        stdin=terminal,
        pass_fds=() if stdin is None else (stdin,),
        stdout=terminal if stdout is None else stdout,
        stderr=terminal,
        cwd=cwd,
        env={"TERM": "xterm", "LANG": "C.UTF-8", **env},
    )
    os.close(terminal)
    try:
        with process:
            try:
                yield Screen(process, keyboard)
            finally:
                if process.poll() is None:
                    process.kill()
    finally:
        os.close(keyboard)
