"""A store of an older version is brought to this one, and what it says stays the same."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ToolReturnPart
from turngraph.flows.store import (
    EndBody,
    IntentBody,
    MessageBody,
    Record,
    ResultBody,
    SealBody,
    Store,
    TurnBody,
    VisitBody,
    version_1,
)
from turngraph.nodes.errors import StoreError

from ..stored import joined, texts_of, whole_turn

DUMP = (Path(__file__).parent / "fixtures" / "v1.sql").read_text(encoding="utf-8")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "turns.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(DUMP)
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a store of version 1, with their bodies as plain values."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute("SELECT * FROM log ORDER BY id")]
    return [{**row, "body": restored(json.loads(row["body"]))} for row in rows]


def restored(value: Any) -> Any:
    """Version 1 stored a lone surrogate as a mark and four hex digits; the sample holds one of them."""
    return json.loads(json.dumps(value).replace("\\ufffed800", "\\ud800"))


def test_the_histories_stay_the_same(old: Path) -> None:
    rows = rows_of(old)
    bodies = {row["id"]: row["body"] for row in rows}
    with Store.open(old) as store:
        sessions = {row["session"] for row in rows}
        assert {summary.id for summary in store.sessions()} == sessions
        for session in sessions:
            expected = list[ModelMessage]()
            for row in rows:
                if row["session"] == session and row["kind"] == "seal":
                    expected += [message for item in row["body"]["messages"] for message in sealed(item, bodies)]
            loaded = store.load_messages(session)
            assert loaded.skipped == 0
            assert len(loaded.messages) > 1
            assert joined(loaded.messages) == joined(expected)


def sealed(item: int | list[int], bodies: Mapping[int, Any]) -> list[ModelMessage]:
    if isinstance(item, int):
        plain = bodies[item]["message"]
    else:
        plain = {"kind": "request", "parts": [bodies[row]["part"] for row in item]}
    return ModelMessagesTypeAdapter.validate_python([plain])


def test_the_journals_stay_the_same(old: Path) -> None:
    rows = rows_of(old)
    with Store.open(old) as store:
        turns = [row["turn"] for row in rows if row["kind"] == "turn"]
        assert [turn for summary in reversed(store.sessions()) for turn in store.turns(summary.id)] == turns
        for turn in turns:
            journal = store.journal(turn)
            before = [row for row in rows if row["turn"] == turn]
            prompt = next(row for row in before if row["kind"] == "message")
            before.remove(prompt)  # the turn's row holds it now
            assert [(record.id, record.kind, record.iteration) for record in journal] == [
                (row["id"], row["kind"], row["iteration"]) for row in before
            ]
            for record, row in zip(journal, before, strict=True):
                assert record.at.isoformat() == row["at"]
                assert said_by(record) == said_before(row, {prompt["id"]: journal[0].id})


def said_by(record: Record) -> Any:
    """What a row says, as plain values."""
    match record.body:
        case TurnBody(head=head, prompt=prompt):
            assert prompt is not None
            said = (head.flow, dict(head.lineup), dict(head.sources), head.model, head.policy, head.workdir)
            return (
                *said,
                head.graph_hash,
                head.instructions,
                head.request_id,
                record.body.epoch,
                record.body.owner.pid,
            )
        case VisitBody(visit=visit):
            return (visit.number, visit.role, visit.cls, visit.to, round(visit.duration_ms, 3), visit.error)
        case MessageBody(message=message, replaces=replaces):
            return ModelMessagesTypeAdapter.dump_python([message], mode="json"), replaces
        case IntentBody() as body:
            return (body.position, body.call_id, body.name, body.effect, body.call)
        case ResultBody() as body:
            return (body.position, body.status, body.effect, body.duration_ms, list(body.edited), content_of(body.part))
        case SealBody(messages=messages):
            return [item if isinstance(item, int) else list(item) for item in messages]
        case EndBody(result=result):
            lineup = {role: played.cls for role, played in result.lineup.items()}
            facts = (result.outcome, result.answer, result.error, result.iterations, result.usage.total_tokens)
            return (*facts, result.duration_ms, result.model, result.flow, lineup, result.graph_hash)
        case other:
            raise AssertionError(f"{record.kind} is in no journal of the sample: {other}")


def content_of(part: ToolReturnPart) -> Any:
    return (part.tool_name, part.content, part.tool_call_id, part.outcome, part.timestamp.isoformat())


def said_before(row: Mapping[str, Any], moved: Mapping[int, int]) -> Any:
    """The same of a row of version 1; rows that were `moved` are called by the ids they have now."""
    body = row["body"]
    match row["kind"]:
        case "turn":
            head = body["head"]
            names = (
                "flow",
                "lineup",
                "sources",
                "model",
                "policy",
                "workdir",
                "graph_hash",
                "instructions",
                "request_id",
            )
            return (*(head[name] for name in names), body["epoch"], body["owner"]["pid"])
        case "visit":
            visit = body["visit"]
            duration = round(visit["duration_ms"], 3)
            return (visit["number"], visit["role"], visit["cls"], visit["to"], duration, visit["error"])
        case "message":
            (message,) = ModelMessagesTypeAdapter.validate_python([body["message"]])
            return ModelMessagesTypeAdapter.dump_python([message], mode="json"), body["replaces"]
        case "intent":
            return (body["position"], body["call_id"], body["name"], body["effect"], body["call"])
        case "result":
            (request,) = ModelMessagesTypeAdapter.validate_python([{"kind": "request", "parts": [body["part"]]}])
            (part,) = request.parts
            assert isinstance(part, ToolReturnPart)
            facts = (body["position"], body["status"], body["effect"], body["duration_ms"], body["edited"])
            return (*facts, content_of(part))
        case "seal":
            return [moved.get(item, item) if isinstance(item, int) else item for item in body["messages"]]
        case "end":
            result = body["result"]
            usage = result["usage"]
            facts = (result["outcome"], result["answer"], result["error"], result["iterations"])
            lineup = {role: played["cls"] for role, played in result["lineup"].items()}
            tokens = usage["input_tokens"] + usage["output_tokens"]
            more = (result["duration_ms"], result["model"], result["flow"], lineup, result["graph_hash"])
            return (*facts, tokens, *more)
        case other:
            raise AssertionError(other)


def test_a_migrated_store_goes_on(old: Path) -> None:
    with Store.open(old) as store:
        session = store.sessions()[0].id
        before = texts_of(store, session)
        whole_turn(store, session, "next", "and now?")
        assert texts_of(store, session) == [*before, "and now?", "done"]
        assert store.turn_body("next").said == "and now?"
        assert store.turn_body(store.turns(session)[0]).said


def test_a_prompt_is_stored_once(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection:
        (before,) = connection.execute("SELECT count(*) FROM log WHERE kind = 'message'").fetchone()
        (turns,) = connection.execute("SELECT count(*) FROM log WHERE kind = 'turn'").fetchone()
    Store.open(old).close()
    with closing(sqlite3.connect(old)) as connection:
        (after,) = connection.execute("SELECT count(*) FROM log WHERE kind = 'message'").fetchone()
        (setups,) = connection.execute("SELECT count(*) FROM log WHERE kind = 'setup'").fetchone()
    assert (after, setups) == (before - turns, 2)


def test_a_damaged_row_is_carried_over_and_nothing_else_is_lost(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("DROP TRIGGER log_never_updated")
        damaged = connection.execute("SELECT id, turn FROM log WHERE kind = 'result' LIMIT 1").fetchone()
        connection.execute("UPDATE log SET body = '{broken', at = 'no time' WHERE id = ?", damaged[:1])
        (seals,) = connection.execute("SELECT count(*) FROM log WHERE kind = 'seal'").fetchone()
        connection.commit()
    with Store.open(old) as store:
        (record,) = [record for record in store.journal(damaged[1]) if record.id == damaged[0]]
        assert (record.kind, record.body) == ("result", None)
        skipped = [store.load_messages(summary.id).skipped for summary in store.sessions()]
        assert sorted(skipped) == [0, 3]
        assert sum(summary.turns for summary in store.sessions()) == 15
        assert seals > 15


def test_a_turn_without_its_prompts_message_keeps_what_was_said(old: Path) -> None:
    """A turn that was killed before it wrote the message."""
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("DROP TRIGGER log_never_deleted")
        last = connection.execute("SELECT turn, max(id) FROM log WHERE kind = 'turn'").fetchone()
        connection.execute("DELETE FROM log WHERE turn = ? AND id > ?", last)
        connection.commit()
    with Store.open(old) as store:
        assert store.turn_body(last[0]).said == "second"


def test_a_migration_that_fails_leaves_the_file_as_it_was(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows_of(old)

    def fail(*_: object) -> Any:
        raise sqlite3.OperationalError("no more space")

    monkeypatch.setattr(version_1._Log, "convert", fail)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(StoreError, match="no more space"):
        Store.open(old)
    assert rows_of(old) == before
    monkeypatch.undo()
    with Store.open(old) as store:
        assert len(store.sessions()) == 2
