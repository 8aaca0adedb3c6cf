from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Built:
    """What is published: the files of the wheel and of the sdist, and both unpacked."""

    wheel: Path
    sdist: Path

    def files(self, unpacked: Path) -> set[str]:
        return {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}


def build(project: Path, target: str, into: Path) -> Path:
    """Build one artefact with the hatchling that is installed, so that no network is needed."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(into)],
        cwd=project,
        check=True,
        capture_output=True,
    )
    (made,) = into.iterdir()
    return made


def unpack(artefact: Path, into: Path) -> Path:
    if artefact.suffix == ".whl":
        with zipfile.ZipFile(artefact) as wheel:
            wheel.extractall(into)
        return into
    with tarfile.open(artefact) as sdist:
        sdist.extractall(into, filter="data")
    (top,) = into.iterdir()
    return top


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    base = tmp_path_factory.mktemp("built")
    for name in ("wheel-made", "sdist-made"):
        (base / name).mkdir()
    wheel = unpack(build(ROOT, "wheel", base / "wheel-made"), base / "wheel")
    sdist = unpack(build(ROOT, "sdist", base / "sdist-made"), base / "sdist")
    return Built(wheel, sdist)
