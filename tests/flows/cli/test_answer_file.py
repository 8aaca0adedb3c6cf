from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from turngraph.flows.cli.answer_file import AnswerFile
from turngraph.flows.cli.failures import Misuse


def test_the_answer_replaces_the_file_and_nothing_else_of_it(tmp_path: Path) -> None:
    """A link stays a link, a mode a mode, and whoever reads the old file reads on in it."""
    real = tmp_path / "real"
    real.write_text("old\n")
    real.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to("real")
    with real.open() as reader:
        AnswerFile(link).write("new \ud800 é")
        assert reader.read() == "old\n"
    assert real.read_text() == "new \\ud800 é\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_a_new_file(tmp_path: Path) -> None:
    AnswerFile(tmp_path / "new").write("x\n\n")
    assert (tmp_path / "new").read_text() == "x\n"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_text()))
    reader.start()
    AnswerFile(tmp_path / "pipe").write("x")
    reader.join()
    assert got == ["x\n"]


def test_a_failure_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_text("old\n")
    file = AnswerFile(tmp_path / "f")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        file.write("new")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old\n"]


@pytest.mark.parametrize(("name", "why"), [(".", "is a directory"), ("none/f", "does not exist")])
def test_what_cannot_be_written_is_said_before_a_turn_is_paid_for(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(Misuse, match=why):
        AnswerFile(tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_permission_is_asked_for_first(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(Misuse, match="permission denied"):
        AnswerFile(tmp_path / "f")
    tmp_path.chmod(0o700)
