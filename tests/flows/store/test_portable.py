"""A session that is taken elsewhere is the same there, and a damaged file loses only what is damaged."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from turngraph.flows.store import IntentBody, MessageBody, Origin, Record, SealBody, Store, TurnBody, VisitBody
from turngraph.flows.store.portable import ELSEWHERE
from turngraph.nodes.deps import Visit
from turngraph.nodes.errors import SessionBusy, UsageError
from turngraph.tools.secret import Secrets

from ..stored import answered, filled, head, outcome_of, python_process, said, texts_of, whole_turn

NOTHING = Secrets({})
STEPS = st.sampled_from(["turn", "open turn", "branch", "fork", "cross", "add", "turn fork", "prune", "compact"])


def bundle_of(store: Store, session: str, hidden: Secrets = NOTHING) -> bytes:
    file = io.BytesIO()
    store.export_session(session, file, hidden)
    return file.getvalue()


def busy_turn(store: Store, session: str, turn_id: str, prompt: str) -> int:
    """A turn with calls, visits and rows that name others; the row of a visit in the middle of it."""
    with store.begin_turn(head(session, turn_id), said(prompt)) as log:
        call = ToolCallPart("look", {"at": prompt}, "c1")
        reply = log.message(ModelResponse(parts=[TextPart("hm"), call]))
        reply = log.message(ModelResponse(parts=[call]), replaces=reply)
        slot = filled(0, call, [prompt])
        log.intent(1, slot)
        log.visit(Visit(1, "stream", "X", 1, "execute", 1.5), {"reply_row": reply, "unsealed": [log.prompt_row, reply]})
        log.repair("one call answered")
        row = log.result(1, slot)
        log.seal(1, [log.prompt_row, reply, [row]])
        log.tree("a" * 40)
        answer = log.message(answered(f"answer to {prompt}"))
        log.visit(Visit(2, "stream", "X", 2, None, 1.5), {"reply_row": answer, "history_row": row})
        log.seal(2, [answer])
        log.end(outcome_of(head(session, turn_id)))
    return next(record.id for record in store.journal(turn_id) if isinstance(record.body, VisitBody))


def told(store: Store, turn_id: str) -> list[tuple[Any, ...]]:
    """The journal of a turn, with rows told by their places in it."""
    journal = store.journal(turn_id)
    places = {record.id: place for place, record in enumerate(journal)}
    return [(one.iteration, one.kind, one.at, _body(one, places)) for one in journal if one.kind != "release"]


def _body(record: Record, places: dict[int, int]) -> Any:
    def place(row: Any) -> Any:
        if isinstance(row, list | tuple):
            return [place(one) for one in cast(Sequence[Any], row)]
        return places.get(row, "elsewhere")

    match record.body:
        case SealBody(messages, replies):
            return place(messages), place(replies)
        case MessageBody(message, replaces):
            return message, replaces and place(replaces)
        case TurnBody() as body:
            # Who resumes it there says how it may run.
            begun = replace(body.head, session_id="", asked={}, policy="")
            return body.prompt, body.owner, body.origin and body.origin.turn, begun
        case VisitBody(visit, changed):
            rows = {"reply_row", "unsealed", "history_row"}
            return visit, {name: place(value) if name in rows else value for name, value in changed.items()}
        case IntentBody() as body:
            return body
        case body:
            return getattr(body, "result", body) and str(type(body))


def assert_same(here: Store, session: str, there: Store, imported: str) -> None:
    assert there.load_messages(imported) == here.load_messages(session)
    turns = there.turns(imported)
    assert [turn for turn in turns if turn in here.turns(session)] == here.turns(session)
    assert there.history_turns(imported) == here.history_turns(session)
    for turn in turns:
        assert told(there, turn) == told(here, turn)


def test_what_would_loosen_a_rule_is_not_taken_over(store: Store) -> None:
    session = store.create_session("/work")
    asked = {"policy": "auto", "swaps": ["stream=evil.py:Stream"], "agent": "evil:agent"}
    store.begin_turn(replace(head(session, "1" * 32), policy="Auto", asked=asked), said("p")).close()
    with Store.in_memory() as there:
        imported = there.import_session(io.BytesIO(bundle_of(store, session)))
        (turn,) = there.turns(imported.session)
        assert (there.turn_body(turn).head.asked, there.turn_body(turn).head.policy) == ({}, ELSEWHERE)


def drawn_sessions(store: Store, steps: list[tuple[str, int]]) -> Iterator[str]:
    """Sessions that begin, go on, branch, fork and share in any order."""
    sessions = [store.create_session("/work")]
    visits: dict[str, tuple[str, int]] = {}
    for number, (step, choice) in enumerate(steps):
        session, turn = sessions[choice % len(sessions)], f"{number:032x}"
        own = store.turns(session)
        if step == "turn":
            visits[turn] = session, busy_turn(store, session, turn, f"p{number}")
        elif step == "open turn":
            store.begin_turn(head(session, turn), said(f"p{number}")).close()
        elif step == "add":
            store.add_messages(session, [said(f"a{number}")])
        elif step == "fork":
            sessions.append(store.create_session("/work", after=store.branch_point(session)))
        elif step == "cross":
            sessions.append(store.create_session("/work"))
            whole_turn(store, sessions[-1], turn, f"p{number}")
            store.branch(sessions[-1], store.branch_point(session))
        elif step == "branch" and own:
            store.branch(session, store.branch_point(session, own[choice % len(own)]))
        elif step == "turn fork" and visits:
            source, (_, row) = list(visits.items())[choice % len(visits)]
            sessions.append(store.create_session("/work", after=row))
            shared = store.turn_body(source).prompt_row
            with store.begin_turn(head(sessions[-1], turn), None, origin=Origin(source, row), prompt_row=shared) as log:
                log.seal(1, [log.prompt_row, log.message(answered("forked"))])
        elif step in ("prune", "compact"):
            with store.begin_turn(head(session, turn), said(f"p{number}")) as log:
                log.prune(choice % 3) if step == "prune" else log.compact(log.message(said("so far")), choice % 3)
                log.seal(1, [log.prompt_row, log.message(answered("ok"))])
    yield from sessions


@settings(max_examples=25)
@given(st.lists(st.tuples(STEPS, st.integers(0, 20)), max_size=8))
def test_a_session_elsewhere_is_the_same(steps: list[tuple[str, int]]) -> None:
    """Messages, turns and journals, of any session, in a store with others; and from there again."""
    with Store.in_memory() as here, Store.in_memory() as there, Store.in_memory() as farther:
        whole_turn(there, there.create_session("/other"), "f" * 32)
        for session in list(drawn_sessions(here, steps)):
            imported = there.import_session(io.BytesIO(bundle_of(here, session)))
            assert (imported.session, imported.lost) == (session, 0)
            with Store.in_memory() as alone:
                whole_turn(alone, alone.create_session("/first"), "e" * 32)  # so that no row keeps its id
                alone.import_session(io.BytesIO(bundle_of(here, session)))
                assert_same(here, session, alone, session)
                again = farther.import_session(io.BytesIO(bundle_of(alone, session)))
                assert farther.load_messages(again.session) == here.load_messages(session)
            assert there.load_messages(session) == here.load_messages(session)


def test_a_session_whose_id_is_taken_gets_another_and_so_do_its_turns(store: Store) -> None:
    session = store.create_session("/work")
    busy_turn(store, session, "one", "hello")
    imported = store.import_session(io.BytesIO(bundle_of(store, session)))
    assert imported.session != session
    assert store.load_messages(imported.session) == store.load_messages(session)
    (turn,) = store.turns(imported.session)
    assert turn not in ("one", "")
    assert told(store, turn)[1:] == told(store, "one")[1:]
    store.delete_session(session)
    assert texts_of(store, imported.session) == ["hello", "answer to hello"]
    assert store.turn_body(turn).head.instructions == "be brief"


def test_a_forked_turn_finds_what_it_shares(store: Store) -> None:
    session = store.create_session("/work")
    row = busy_turn(store, session, "one", "hello")
    fork = store.create_session("/work", after=row)
    shared = store.turn_body("one").prompt_row
    with store.begin_turn(head(fork, "two"), None, origin=Origin("one", row), prompt_row=shared) as log:
        log.seal(1, [log.prompt_row, log.message(answered("forked"))])
    with Store.in_memory() as there:
        whole_turn(there, there.create_session("/first"), "first", "another prompt")
        there.import_session(io.BytesIO(bundle_of(store, fork)))
        body = there.turn_body("two")
        assert (body.said, body.origin and body.origin.turn) == ("hello", "one")
        visits = [one.id for one in there.journal("one") if isinstance(one.body, VisitBody)]
        assert body.origin is not None
        assert body.origin.visit == visits[0]
        assert texts_of(there, fork) == ["hello", "forked"]


def test_what_several_branches_share_comes_once_and_as_far_as_any_of_them_needs(store: Store) -> None:
    source, session = store.create_session("/work"), store.create_session("/work")
    ends = list[int]()
    for number in range(3):
        whole_turn(store, source, f"turn-{number}", f"p{number}")
        ends.append(store.branch_point(source))
    histories = [(end, texts_of(store, source)[: 2 * place + 2]) for place, end in enumerate(ends)]
    for end, expected in [histories[1], histories[2], histories[0]]:
        store.branch(session, end)
        whole_turn(store, session, f"on-{end}", "own")
        with Store.in_memory() as there:
            there.import_session(io.BytesIO(bundle_of(store, session)))
            assert texts_of(there, session) == [*expected, "own", "done"]
            turns = [turn for turn in there.turns(session) if turn.startswith("turn")]
    assert turns == ["turn-0", "turn-1", "turn-2"]
    with Store.in_memory() as there:
        there.import_session(io.BytesIO(bundle_of(store, session)))
        there.branch(session, there.branch_point(session, f"on-{ends[2]}"))
        assert texts_of(there, session) == [*histories[2][1], "own", "done"]


RUN_ON = """
with Store.open(Path(sys.argv[1])) as store:
    with store.begin_turn(head(sys.argv[2], "one"), said("hello")) as log:
        log.seal(1, [log.prompt_row, log.message(answered("so far"))])
        print("running", flush=True)
        sys.stdin.read()
"""


def test_a_turn_that_runs_there_does_not_run_here(store: Store, store_path: Path) -> None:
    session = store.create_session("/work")
    with Store.in_memory() as there, python_process(RUN_ON, store_path, session) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        with pytest.raises(SessionBusy):
            store.take_over("one")
        imported = there.import_session(io.BytesIO(bundle_of(store, session)))
        assert texts_of(there, imported.session) == ["hello", "so far"]
        assert there.unfinished_turn(imported.session) == "one"
        there.take_over("one").close()


@pytest.fixture
def bundle(store: Store) -> tuple[str, list[bytes]]:
    session = store.create_session("/work")
    for number in range(3):
        busy_turn(store, session, f"turn-{number}", f"p{number}")
    return session, bundle_of(store, session).splitlines(keepends=True)


def taken_in(data: bytes) -> tuple[list[Any], int]:
    with Store.in_memory() as there:
        imported = there.import_session(io.BytesIO(data))
        for turn in there.turns(imported.session):
            there.journal(turn)
        there.sessions()
        later = there.create_session("/other")
        whole_turn(there, later, "later", "not of it")
        assert "not of it" not in texts_of(there, imported.session)
        return texts_of(there, imported.session), imported.lost


WHOLE = [text for number in range(3) for text in (f"p{number}", f"answer to p{number}")]


def test_a_torn_tail_loses_only_the_line_it_tore(bundle: tuple[str, list[bytes]]) -> None:
    """At any byte (T6-01)."""
    data = b"".join(bundle[1])
    for cut in random.Random(1).sample(range(len(bundle[1][0]), len(data)), 60):
        texts, lost = taken_in(data[:cut])
        assert texts == WHOLE[: len(texts)]
        whole_lines = data[:cut].count(b"\n") - 1
        left = len(bundle[1]) - 2 - whole_lines
        assert lost in (left, left - 1) or (left <= 0 and lost <= 1), "a line that lacks only its end is whole"


@pytest.mark.parametrize(
    "spoil", [b'{"torn', b"\0" * 500, b"{}", b"[]", b"7", b"\xff\xfe", b"[" * 100_000, b'{"schema": 1}', b'"\\ud800"']
)
def test_a_bad_line_loses_itself_and_is_counted(spoil: bytes, bundle: tuple[str, list[bytes]]) -> None:
    """A damaged line, or a block of NULs, in the middle; what follows is read (T6-02, T6-03)."""
    for number in range(1, len(bundle[1]) - 1):
        lines = [*bundle[1]]
        lines[number] = spoil + b"\n"
        texts, lost = taken_in(b"".join(lines))
        assert lost == 1
        assert set(texts) <= set(WHOLE)
        row = json.loads(bundle[1][number])
        if row["kind"] in ("intent", "visit", "repair", "tree", "end", "setup"):
            assert texts == WHOLE
        if row["kind"] in ("seal", "message", "result"):
            assert len(texts) >= len(WHOLE) - 3


@pytest.mark.parametrize("field", ["id", "turn", "iteration", "kind", "name", "at", "facts", "content"])
@pytest.mark.parametrize("value", [-1, 2**70, None, "\ud800", "{", "[]", 1.5, [], "session", '{"after": "x"}'])
def test_no_value_of_a_line_breaks_the_store(field: str, value: Any, bundle: tuple[str, list[bytes]]) -> None:
    lines = [*bundle[1]]
    for number in range(1, len(lines) - 1):
        row = json.loads(lines[number])
        row[field] = value
        taken_in(b"".join([*lines[:number], json.dumps(row).encode() + b"\n", *lines[number + 1 :]]))


@pytest.mark.parametrize("lost", [0, -1])
def test_one_of_the_two_outer_lines_is_enough(lost: int, bundle: tuple[str, list[bytes]]) -> None:
    lines = [*bundle[1]]
    lines[lost] = b"\0" * 50 + b"\n"
    assert taken_in(b"".join(lines)) == (WHOLE, 1)


@pytest.mark.parametrize("data", [b"", b"hello\nthere\n", b'{"schema": "turngraph.session/1", "messages": []}\n'])
def test_what_is_no_bundle_is_refused_whole(data: bytes, store: Store) -> None:
    with pytest.raises(UsageError, match=r"no bundle.*--format bundle"):
        store.import_session(io.BytesIO(data))
    assert store.sessions() == []


def test_a_newer_bundle_is_refused_with_its_version(store: Store, bundle: tuple[str, list[bytes]]) -> None:
    newer = json.dumps({**json.loads(bundle[1][0]), "version": 99}).encode()
    with pytest.raises(UsageError, match=r"version 99.*upgrade"):
        store.import_session(io.BytesIO(newer + b"\n" + b"".join(bundle[1][1:])))
    assert len(store.sessions()) == 1


def test_no_secret_is_in_a_bundle(store: Store) -> None:
    secret = 'hunter2 "and" more'
    session = store.create_session(f"/somewhere-{secret}")
    busy_turn(store, session, "one", f"my key is {secret}")
    file = io.BytesIO()
    exported = store.export_session(session, file, Secrets({"MY_KEY": secret}))
    assert b"hunter2" not in file.getvalue()
    assert exported.redacted >= 3
    with Store.in_memory() as there:
        imported = there.import_session(io.BytesIO(file.getvalue()))
        assert texts_of(there, imported.session) == [
            "my key is [redacted MY_KEY]",
            "answer to my key is [redacted MY_KEY]",
        ]
