"""`python -m turngraph` is the command, wherever it is run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import turngraph


@pytest.mark.end_to_end
def test_a_repository_does_not_lend_its_own_modules(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise SystemExit('typer of the repository')")
    done = subprocess.run(
        [sys.executable, "-m", "turngraph", "--version"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"turngraph {turngraph.__version__}\n", "")
