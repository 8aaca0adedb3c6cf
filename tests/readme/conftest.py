from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from .fences import README

_CONFIGURED = re.compile(r"^TURNGRAPH_|^XDG_|_API_KEY$|_BASE_URL$")


@dataclass(frozen=True)
class Shell:
    """A shell in a copy of the small workspace's surroundings, whose `turngraph` is the one under test."""

    folder: Path
    environment: dict[str, str]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=60
        )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    root = README.parent
    folder, programs, home = tmp_path / "clone", tmp_path / "programs", tmp_path / "home"
    for one in (programs, home):
        one.mkdir()
    unwanted = shutil.ignore_patterns("__pycache__", ".*_cache")
    shutil.copytree(root / "tests" / "sample", folder / "tests" / "sample", ignore=unwanted)
    program = programs / "turngraph"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m turngraph "$@"\n')
    program.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not _CONFIGURED.search(name)}
    environment |= {
        "HOME": str(home),
        "PATH": f"{programs}{os.pathsep}{environment['PATH']}",
        "PYTHONPATH": str(root / ".src"),
    }
    shell = Shell(folder, environment)
    author = ("-c", "user.name=reader", "-c", "user.email=reader@example.org")
    for words in (("init", "--quiet"), ("add", "."), (*author, "commit", "--quiet", "--message", "a clone")):
        done = shell.run("git", *words)
        assert done.returncode == 0, done.stderr
    return shell
