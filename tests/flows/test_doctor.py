"""The report names what is configured, what is missing and how to mend it, whatever is broken."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from turngraph.flows.doctor import Line, Report, examine, servers
from turngraph.flows.doctor.model import PROVIDERS, Provider
from turngraph.flows.models import create_model
from turngraph.flows.store import Store
from turngraph.flows.store.schema import APPLICATION_ID, MIGRATIONS
from turngraph.nodes.errors import UsageError

from .stored import texts_of, whole_turn


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    for provider in PROVIDERS:
        for key in provider.keys:
            monkeypatch.delenv(key, raising=False)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "mine.toml").touch()
    (tmp_path / "work").mkdir()
    return {"TURNGRAPH_CONFIG": str(tmp_path / "mine.toml"), "TURNGRAPH_STORE": str(tmp_path / "data/store.db")}


def lines(report: Report, title: str) -> list[Line]:
    return [line for section in report.sections if section.title == title for line in section.lines]


def blocking(report: Report) -> list[str]:
    return [line.text for section in report.sections for line in section.lines if line.blocks]


def test_with_nothing_configured_a_turn_can_run_and_what_could_be_is_named(environ: dict[str, str], tmp_path: Path):
    report = examine(environ, tmp_path / "work")
    assert report.can_run
    answering, no_model = lines(report, "Model")
    assert answering.text.startswith("offline would answer, because nothing names another")
    assert (no_model.status, "--model" in no_model.mend) == ("missing", True)
    (store,) = lines(report, "Store")
    assert (store.status, "first turn creates" in store.text) == ("ok", True)
    assert not (tmp_path / "data").exists(), "looking must create nothing"
    assert "Local servers" not in [section.title for section in report.sections]


def test_which_model_answers_and_why(environ: dict[str, str], tmp_path: Path):
    Path(environ["TURNGRAPH_CONFIG"]).write_text('model = "qwen3"\nbase_url = "http://127.0.0.1:9/v1"\n')
    (line,) = lines(examine(environ, tmp_path / "work"), "Model")
    where = environ["TURNGRAPH_CONFIG"]
    assert line.text == (
        f"qwen3 at http://127.0.0.1:9/v1 (from {where}:2) would answer, because {where}:1 says so; it was not asked"
    )


def test_a_missing_key_is_a_problem_with_its_command(environ: dict[str, str], tmp_path: Path):
    report = examine({**environ, "TURNGRAPH_MODEL": "anthropic:claude-sonnet-4-5"}, tmp_path / "work")
    (line,) = lines(report, "Model")
    assert (line.status, line.mend, report.can_run) == ("problem", "export ANTHROPIC_API_KEY=YOUR_KEY", False)


def test_keys_are_named_and_never_shown(environ: dict[str, str], tmp_path: Path):
    given = {key: f"hunter2-{key}" for provider in PROVIDERS for key in provider.keys}
    Path(environ["TURNGRAPH_CONFIG"]).write_text('model = "m"\nbase_url = "http://me:hunter2@host/v1"\n')
    report = examine({**environ, **given}, tmp_path / "work")
    said = [f"{line.text} {line.mend}" for section in report.sections for line in section.lines]
    assert not [text for text in said if "hunter2" in text]
    assert [text for text in said if "OPENAI_API_KEY is set and its package is installed" in text]


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_the_variables_and_packages_named_are_those_pydantic_ai_wants(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://127.0.0.1")
    with pytest.raises(UsageError) as caught:
        create_model(f"{provider.name}:some-model")
    said = str(caught.value)
    assert any(key in said for key in provider.keys) or f"[{provider.extra}]" in said, said


@pytest.mark.parametrize(
    ("text", "words"), [("modle = 1\n", "modle"), ("policy = 1\n", "policy"), ("[\n", "line 1"), (b"\xff", "read")]
)
def test_wrong_settings_are_told_and_the_rest_is_still_looked_at(
    text: str | bytes, words: str, environ: dict[str, str], tmp_path: Path
):
    Path(environ["TURNGRAPH_CONFIG"]).write_bytes(text if isinstance(text, bytes) else text.encode())
    report = examine(environ, tmp_path / "work")
    (problem,) = blocking(report)
    assert words in problem
    assert environ["TURNGRAPH_CONFIG"] in problem
    assert {section.title for section in report.sections} >= {"Versions", "Model", "Providers", "Store", "Terminal"}


def test_what_a_project_holds_back_is_shown(environ: dict[str, str], tmp_path: Path):
    (tmp_path / "work/turngraph.toml").write_text('policy = "read-only"\n')
    said = [line.text for line in lines(examine(environ, tmp_path / "work"), "Settings")]
    assert f"policy is read-only, from {tmp_path / 'work'}/turngraph.toml:1" in said


def filled_store(environ: dict[str, str]) -> Path:
    path = Path(environ["TURNGRAPH_STORE"])
    with Store.open(path) as store:
        for number in range(3):
            store.create_session(f"/somewhere/{number}")
    return path


def test_a_healthy_store_is_counted_and_left_as_it_was(environ: dict[str, str], tmp_path: Path):
    path = filled_store(environ)
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    said = [line.text for line in lines(examine(environ, tmp_path / "work"), "Store")]
    assert said[1:] == ["its pages and indexes are whole", f"3 sessions with 0 turns, schema version {len(MIGRATIONS)}"]
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


def test_an_older_store_is_counted_and_left_for_the_next_turn_to_migrate(environ: dict[str, str], tmp_path: Path):
    path = Path(environ["TURNGRAPH_STORE"])
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        MIGRATIONS[0](connection)
        connection.executescript(f"PRAGMA user_version = 1; PRAGMA application_id = {APPLICATION_ID}")
    path.chmod(0o600)
    before = path.read_bytes()
    report = examine(environ, tmp_path / "work")
    assert lines(report, "Store")[-1].text == "0 sessions with 0 turns, schema version 1, brought to 2 by the next turn"
    assert (report.can_run, path.read_bytes() == before) == (True, True)
    Store.open(path).close()
    assert lines(examine(environ, tmp_path / "work"), "Store")[-1].text.endswith("schema version 2")


def test_a_store_in_use_is_counted_with_its_log(environ: dict[str, str], tmp_path: Path):
    with Store.open(Path(environ["TURNGRAPH_STORE"])) as store:
        store.create_session("/somewhere")
        said = [line.text for line in lines(examine(environ, tmp_path / "work"), "Store")]
    assert f"1 session with 0 turns, schema version {len(MIGRATIONS)}" in said


def test_a_store_that_others_may_read_is_a_problem_that_blocks_nothing(environ: dict[str, str], tmp_path: Path):
    path = filled_store(environ)
    path.chmod(0o644)
    report = examine(environ, tmp_path / "work")
    assert [line.mend for line in lines(report, "Store") if line.status == "problem"] == [f"chmod 600 {path}"]
    assert report.can_run


def _spoil(path: Path, how: str) -> None:
    if how == "pages":
        with Store.open(path) as store:
            for _ in range(300):
                store.create_session("/x" * 50)
        data = bytearray(path.read_bytes())
        data[8192:20480] = os.urandom(20480 - 8192)
        path.write_bytes(data)
    elif how == "no database":
        path.write_text("hello " * 1000)
    elif how == "another program's":
        path.unlink()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE t (x)")
    elif how == "newer":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 99")
    elif how == "a folder":
        path.unlink()
        path.mkdir()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("pages", "store"),
        ("no database", "not a database"),
        ("another program's", "another program"),
        ("newer", "version 99"),
        ("a folder", "no file"),
    ],
)
def test_a_store_that_cannot_be_used_blocks_and_says_how_to_go_on(
    how: str, words: str, environ: dict[str, str], tmp_path: Path
):
    _spoil(filled_store(environ), how)
    report = examine(environ, tmp_path / "work")
    assert not report.can_run
    (line,) = [line for line in lines(report, "Store") if line.blocks]
    assert words in line.text
    assert line.mend


def test_a_damaged_store_is_mended_and_what_was_done_is_counted(environ: dict[str, str], tmp_path: Path):
    path = Path(environ["TURNGRAPH_STORE"])
    with Store.open(path) as store:
        session = store.create_session("/work")
        whole_turn(store, session, "a" * 32, "first")
        whole_turn(store, session, "b" * 32, "second")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("DROP TRIGGER log_never_deleted; DELETE FROM log WHERE kind = 'message' AND id < 6")
    path.chmod(0o640)
    report = examine(environ, tmp_path / "work")
    assert report.can_run
    problems = [line for line in lines(report, "Store") if line.status == "problem"]
    assert [line.mend for line in problems] == [f"chmod 600 {path}", "turngraph doctor --repair"]
    assert "1 seal" in problems[1].text

    mended = examine(environ, tmp_path / "work", repair=True)
    said = "\n".join(line.text for line in lines(mended, "Repair"))
    kept = next(file for file in path.parent.iterdir() if "damaged" in file.name)
    for words in (f"kept as {kept}", "1 seal that name"):
        assert words in said
    assert [line for line in lines(mended, "Store") if line.status == "problem"] == []
    with Store.open(path) as store:
        assert texts_of(store, session) == ["second", "done"]
    path.chmod(0o640)
    sound, private = lines(examine(environ, tmp_path / "work", repair=True), "Repair")
    assert ("nothing was repaired" in sound.text, "mode 640 before" in private.text) == (True, True)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("how", ["pages", "no database", "another program's", "newer", "a folder", "nothing"])
def test_a_repair_of_whatever_is_there_is_told(how: str, environ: dict[str, str], tmp_path: Path):
    path = Path(environ["TURNGRAPH_STORE"])
    if how != "nothing":
        _spoil(filled_store(environ), how)
    told = lines(examine(environ, tmp_path / "work", repair=True), "Repair")
    assert told
    if how in ("no database", "another program's", "newer"):
        assert [(line.status, str(path) in line.text) for line in told] == [("problem", True)]


def test_a_store_that_cannot_be_created_blocks(environ: dict[str, str], tmp_path: Path):
    (tmp_path / "data").write_text("a file where a folder should be")
    assert "cannot be created" in blocking(examine(environ, tmp_path / "work"))[0]


@contextmanager
def serving(body: bytes, status: int = 200) -> Generator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/v1/models" else 404)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_local_server_is_found_with_its_models_and_the_command_to_use_it():
    listed = json.dumps({"object": "list", "data": [{"id": f"model-{number}"} for number in range(7)]}).encode()
    with serving(listed) as port:
        (line,) = servers.lines({"Ollama": port})
    assert line.text.endswith("model-0, model-1, model-2, model-3, model-4 and 2 more")
    assert line.mend == f"turngraph run --base-url http://127.0.0.1:{port}/v1 --model openai-chat:model-0 PROMPT"


@pytest.mark.parametrize(
    ("body", "status", "finding"),
    [
        (b'{"data": []}', 200, "missing"),
        (b'{"data": null}', 200, "missing"),
        (b"<html>", 200, "problem"),
        (b'{"data": 5}', 200, "problem"),
        (b"[" * 100_000, 200, "problem"),
        (b"", 500, "problem"),
        (b'{"data": [{"id": "' + b"x" * 1_000_000 + b'"}]}', 200, "problem"),
    ],
)
def test_whatever_answers_on_a_port_is_a_finding(body: bytes, status: int, finding: str):
    with serving(body, status) as port:
        assert [line.status for line in servers.lines({"vLLM": port})] == [finding]


def test_nobody_and_somebody_silent_are_told_apart_in_bounded_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(servers, "SECONDS", 0.2)
    with socket.socket() as silent, socket.socket() as closed:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        closed.bind(("127.0.0.1", 0))
        ports = {"Ollama": silent.getsockname()[1], "vLLM": closed.getsockname()[1]}
        taken, nobody = servers.lines(ports)
    assert (taken.status, nobody.status) == ("problem", "missing")
    assert nobody.mend == "vllm serve MODEL"


def test_a_flow_that_cannot_run_blocks_and_another_is_only_told(environ: dict[str, str], tmp_path: Path):
    settings = tmp_path / "mine.toml"
    settings.write_text('flow = "nope"\n')
    report = examine(environ, tmp_path / "work")
    assert not report.can_run
    assert "there is no flow 'nope'" in blocking(report)[0]
    settings.write_text('[flows.bad]\nswap = ["stream=cascade"]\n[flows.good]\nswap = ["execute=serial"]\n')
    report = examine(environ, tmp_path / "work")
    assert report.can_run
    assert [line.status for line in lines(report, "Flow")] == ["ok", "problem", "ok"]


def test_the_standard_flow_cannot_be_named_again(environ: dict[str, str], tmp_path: Path):
    (tmp_path / "mine.toml").write_text('[flows.standard]\nswap = ["execute=dry-run"]\n')
    report = examine(environ, tmp_path / "work")
    assert any("standard is the flow without swaps" in text for text in blocking(report))
