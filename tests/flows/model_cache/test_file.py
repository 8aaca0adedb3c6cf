"""The file: what is damaged costs itself and nothing else, and nobody's file is spoilt."""

from __future__ import annotations

import json
import resource
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turngraph.flows.model_cache import Mode, cached
from turngraph.flows.testing.model import ScriptedModel
from turngraph.nodes.errors import ProviderError, StoreError, UsageError

from .asking import ask, prompt, record, recorder, records, strict

PAIRS = [("one", "first reply"), ("two", "second reply"), ("three", "third reply")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


def found(path: Path, *texts: str) -> list[str]:
    """The prompts that a strict model has a reply to."""
    model, hits = strict(path), list[str]()
    for text in texts:
        try:
            ask(model, prompt(text))
        except ProviderError:
            continue
        hits.append(text)
    return hits


def test_a_file_is_private_and_a_record_can_be_read_by_a_person(path: Path) -> None:
    record(path, ("what is it?", "A file."))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (one,) = records(path)
    assert (one["schema"], one["number"]) == (1, 1)
    assert (one["request"]["messages"], one["request"]["last"]) == (1, "user-prompt: what is it?")
    assert one["response"]["parts"][0]["content"] == "A file."


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "calls.jsonl"
    record(path, *PAIRS)
    return path.read_bytes()


@settings(max_examples=40)
@given(cut=st.integers(min_value=0))
def test_a_torn_end_loses_itself_only(cut: int, whole: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("torn") / "calls.jsonl"
    torn = whole[: cut % (len(whole) + 1)]
    path.write_bytes(torn)
    left = ["one", "two", "three"][: torn.count(b"\n") + torn.endswith(b"}}")]  # whole, but for its line's end
    assert found(path, "one", "two", "three") == left
    record(path, ("four", "fourth reply"))
    assert found(path, "one", "two", "three", "four") == [*left, "four"]


@pytest.mark.parametrize(
    ("damage", "skipped"),
    [
        (b'{"schema":1,"key":"x', 1),
        (b"\0" * 500, 1),
        (b'\0\0{"schema":1,\0\0', 1),
        (b'{"schema":1}\n[]\n\xff\xfe', 3),
        (b"", 0),
    ],
)
def test_damage_in_the_middle_is_skipped_and_counted(
    path: Path, damage: bytes, skipped: int, whole: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    first, rest = whole.split(b"\n", 1)
    path.write_bytes(first + b"\n" + damage + b"\n" + rest)
    model = strict(path)
    assert getattr(model, "skipped") == skipped  # noqa: B009 - the function's type says no more than that it is a model
    assert found(path, "one", "two", "three") == ["one", "two", "three"]
    assert any("skipped" in line for line in caplog.messages) == bool(skipped)


def test_a_record_behind_nul_bytes_is_read(path: Path, whole: bytes) -> None:
    path.write_bytes(b"\0" * 100 + whole)
    assert found(path, "one", "two", "three") == ["one", "two", "three"]


def test_a_record_whose_reply_is_none_counts_as_missing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    record(path, ("one", "first reply"))
    (one,) = records(path)
    path.write_text(json.dumps({**one, "response": {"kind": "response"}}) + "\n")
    assert found(path, "one") == []
    assert any("counts as missing" in line for line in caplog.messages)


def test_a_newer_version_is_refused_by_its_number(path: Path, whole: bytes) -> None:
    path.write_bytes(whole + b'{"schema":7,"something":"new"}\n')
    for mode in ("record", "replay", "strict"):
        with pytest.raises(UsageError, match="version 7, of a newer turngraph, and this one knows up to 1"):
            cached(ScriptedModel(), mode, path)


@pytest.mark.parametrize("mode", ["record", "replay", "strict"])
def test_a_file_of_another_kind_is_refused_and_left_alone(path: Path, mode: Mode) -> None:
    path.write_text("# Notes\n\nkeep me\n")
    with pytest.raises(UsageError, match="something else than a model cache"):
        cached(ScriptedModel(), mode, path)
    assert path.read_text() == "# Notes\n\nkeep me\n"


@pytest.mark.parametrize("mode", ["record", "replay", "strict"])
def test_what_is_no_file_is_refused(tmp_path: Path, mode: Mode) -> None:
    with pytest.raises(UsageError, match="cannot be opened"):
        cached(ScriptedModel(), mode, tmp_path)
    with pytest.raises(UsageError, match="No such file or directory"):
        cached(ScriptedModel(), mode, tmp_path / "none" / "calls.jsonl")


def test_strict_reads_only(path: Path, whole: bytes) -> None:
    with pytest.raises(UsageError, match="No such file"):
        strict(path)
    assert not path.exists()
    path.write_bytes(whole[:-10])
    before = path.stat()
    assert found(path, "one", "two", "three") == ["one", "two"]
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (whole[:-10], before.st_mtime_ns)


_APPEND = """
import sys
from pathlib import Path
from tests.flows.model_cache.asking import record
for number in range(30):
    record(Path(sys.argv[1]), *[(f"{sys.argv[2]} {number}", "x" * 20_000)])
"""


def test_two_processes_add_at_once(path: Path) -> None:
    root = Path(__file__).parents[3]
    writers = [
        subprocess.Popen([sys.executable, "-c", _APPEND, str(path), name], cwd=root, stderr=subprocess.PIPE)
        for name in ("a", "b")
    ]
    assert [writer.communicate()[1] for writer in writers] == [b"", b""]
    assert len(records(path)) == 60
    texts = [f"{name} {number}" for name in ("a", "b") for number in range(30)]
    assert found(path, *texts) == texts


@contextmanager
def no_file_longer_than(size: int) -> Generator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("room", [0, 40])
def test_a_full_disk_is_said_and_costs_that_record_only(path: Path, room: int) -> None:
    record(path, ("one", "first reply"))
    model = recorder(path, "second reply")
    with no_file_longer_than(path.stat().st_size + room), pytest.raises(StoreError, match="could not be written"):
        ask(model, prompt("two"))
    record(path, ("three", "third reply"))
    assert found(path, "one", "two", "three") == ["one", "three"]


def test_known_secrets_are_not_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_API_KEY", "sk-TEST-123456")
    model = recorder(path, "Your key is sk-TEST-123456.", "Still.")
    reply = ask(model, prompt("my key is sk-TEST-123456"))
    ask(model, prompt("my key is sk-TEST-123456"), reply, prompt("and now?"))
    assert "sk-TEST-123456" not in path.read_text()
    again = strict(path)
    replayed = ask(again, prompt("my key is sk-TEST-123456"))
    assert replayed.text == "Your key is [redacted X_API_KEY]."
    assert ask(again, prompt("my key is sk-TEST-123456"), replayed, prompt("and now?")).text == "Still."
