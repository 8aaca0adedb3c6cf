"""What a session's history is after turns, cuts, messages from outside and steps back, as any of its rows saw it."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage
from turngraph.flows.store import CompactBody, PruneBody, Store, TurnWriter
from turngraph.nodes.history.compact import compacted
from turngraph.nodes.history.prune import PLACEHOLDER, clear
from turngraph.nodes.history.tokens import estimate
from turngraph.nodes.slots import CallStatus

from ..stored import answered, filled, head, joined, outcome_of, said, seal_all, texts_of


@dataclass
class Model:
    """A session as plain lists: what came before the running turn, what it said, and what came from outside."""

    store: Store
    session: str
    before: list[ModelMessage] = field(default_factory=list[ModelMessage])
    own: list[ModelMessage] = field(default_factory=list[ModelMessage])
    outside: list[ModelMessage] = field(default_factory=list[ModelMessage])
    log: TurnWriter | None = None
    seen: list[tuple[str, int, list[ModelMessage]]] = field(default_factory=list[tuple[str, int, list[ModelMessage]]])
    count: int = 0

    @property
    def history(self) -> list[ModelMessage]:
        return joined([*self.before, *self.own, *self.outside])

    def saw(self, row: int) -> None:
        self.seen.append((self.session, row, self.history))

    def name(self) -> str:
        self.count += 1
        return f"{self.session}-{self.count}"

    def iterate(self, calls: int, prompt: bool, signed: bool) -> None:
        if self.log is None:
            asked = said(self.name())
            self.turn = head(self.session, uuid.uuid4().hex)
            self.log = self.store.begin_turn(self.turn, asked)
            self.own = [asked]
            rows: list[int | list[int]] = [self.log.message(asked)]
        else:
            rows = []
            if prompt:
                more = said(self.name())
                self.own.append(more)
                rows.append(self.log.message(more))
        called = [ToolCallPart("read", {"n": n}, f"call-{n}") for n in range(calls)]
        thought = ThinkingPart(self.name(), signature="s" if signed else None, provider_name="p")
        reply = ModelResponse(parts=[thought, TextPart(self.name()), *called])
        rows.append(self.log.message(reply))
        self.own.append(reply if signed else replace(reply, parts=reply.parts[1:]))
        if called:
            slots = [
                filled(n, call, self.name(), CallStatus.OK if n else CallStatus.ERROR) for n, call in enumerate(called)
            ]
            rows.append([self.log.result(self.count, slot) for slot in slots])
            self.own.append(ModelRequest(parts=[slot.result for slot in slots if slot.result]))
        self.saw(self.log.seal(self.count, rows))

    def prune(self, whole: int) -> None:
        if self.log is not None:
            self.before, self.own = clear(joined([*self.before, *self.own]), whole), []
            self.saw(self.log.prune(whole))

    def compact(self, kept: int) -> None:
        if self.log is not None:
            summary = said(self.name())
            self.before, self.own = compacted(joined([*self.before, *self.own]), summary, kept), []
            self.saw(self.log.compact(self.log.message(summary), kept))

    def add(self) -> None:
        message = said(self.name())
        self.store.add_messages(self.session, [message])
        if self.log is None:
            self.before = [*self.before, message]
        else:
            self.outside.append(message)

    def end(self) -> None:
        if self.log is not None:
            self.before, self.own, self.outside = self.history, [], []
            self.saw(self.log.end(outcome_of(self.turn)))
            self.log = None

    def go_back(self, number: int) -> None:
        self.end()
        if self.seen:
            _, row, self.before = self.seen[number % len(self.seen)]
            self.store.branch(self.session, row)

    def fork(self, number: int) -> None:
        self.end()
        if self.seen:
            _, row, self.before = self.seen[number % len(self.seen)]
            self.session = self.store.create_session("/work", after=row)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("iterate"), st.integers(0, 3), st.booleans(), st.booleans()),
        st.tuples(st.just("iterate"), st.integers(0, 3), st.booleans(), st.booleans()),
        st.tuples(st.just("end")),
        st.tuples(st.just("add")),
        st.tuples(st.just("prune"), st.integers(0, 4)),
        st.tuples(st.just("compact"), st.integers(0, 4)),
        st.tuples(st.just("go_back"), st.integers(0, 99)),
        st.tuples(st.just("fork"), st.integers(0, 99)),
    ),
    max_size=25,
)


@settings(max_examples=150)
@given(steps)
def test_a_history_is_what_happened_as_any_row_saw_it(taken: list[tuple[Any, ...]]) -> None:
    with Store.in_memory() as store:
        model = Model(store, store.create_session("/work"))
        for name, *arguments in taken:
            getattr(model, name)(*arguments)
            loaded = store.load_messages(model.session)
            assert loaded.skipped == 0
            assert joined(loaded.messages) == model.history
            kinds = [message.kind for message in loaded.messages]
            assert "request request" not in " ".join(kinds)
        model.end()
        for session, row, history in model.seen:
            assert joined(store.load_messages(session, row).messages) == history


def test_what_came_from_outside_comes_after_the_turn_that_ran(store: Store) -> None:
    session = store.create_session("/work")
    turn = head(session)
    with store.begin_turn(turn, None) as log:
        seal_all(log, [said("one"), answered("two")])
        assert store.add_messages(session, [said("outside"), answered("heard")]) == []
        seal_all(log, [said("three"), answered("four")])
        log.end(outcome_of(turn))
    store.add_messages(session, [said("later")])
    assert texts_of(store, session) == ["one", "two", "three", "four", "outside", "heard", "later"]


def test_what_comes_from_outside_is_valid_by_itself(store: Store) -> None:
    session = store.create_session("/work")
    call = ToolCallPart("read", {}, "c1")
    mended = store.add_messages(session, [said("look"), ModelResponse(parts=[call]), said("well?")])
    assert mended == ["1 unanswered call(s) answered as interrupted"]
    _, _, answer = store.load_messages(session).messages
    assert [type(part) for part in answer.parts] == [ToolReturnPart, UserPromptPart]


def test_results_of_a_message_from_outside_are_cleared_too(store: Store) -> None:
    session = store.create_session("/work")
    call = ToolCallPart("read", {}, "c1")
    result = ModelRequest(parts=[ToolReturnPart("read", "much", "c1")])
    store.add_messages(session, [said("look"), ModelResponse(parts=[call]), result, answered("seen")])
    with store.begin_turn(head(session), None) as log:
        row = log.prune(1)
    before, after = store.load_messages(session, row - 1).messages, store.load_messages(session).messages
    assert after == clear(before, 1)
    assert after != before


def test_what_came_from_outside_during_a_turn_outlives_its_cut(store: Store) -> None:
    """What the turn never had in its hands, it could not summarise."""
    session = store.create_session("/work")
    turn = head(session)
    with store.begin_turn(turn, None) as log:
        seal_all(log, [said("one"), answered("two")])
        store.add_messages(session, [said("outside")])
        log.compact(log.message(said("summary")), 0)
        assert texts_of(store, session) == ["summary", "outside"]
        seal_all(log, [answered("three")])
        log.end(outcome_of(turn))
    assert texts_of(store, session) == ["summary", "three", "outside"]


def test_a_reply_before_a_cut_no_longer_tells_the_size_of_the_context(store: Store) -> None:
    session = store.create_session("/work")
    large = replace(answered("two"), usage=RequestUsage(input_tokens=90_000, output_tokens=10))
    with store.begin_turn(head(session), None) as log:
        seal_all(log, [said("one"), large])
        assert estimate(store.load_messages(session).messages) == 90_010
        log.prune(0)
        assert estimate(store.load_messages(session).messages) < 100
        small = replace(answered("four"), usage=RequestUsage(input_tokens=700, output_tokens=7))
        seal_all(log, [said("three"), small])
        assert estimate(store.load_messages(session).messages) == 707


def test_cuts_are_in_the_journal(store: Store) -> None:
    with store.begin_turn(head(store.create_session("/work")), None) as log:
        log.prune(3)
        summary = log.message(said("summary"))
        log.compact(summary, 2)
    bodies = [record.body for record in store.journal("turn-1")]
    assert bodies[1] == PruneBody(3)
    assert bodies[3] == CompactBody(summary, 2)


def test_what_is_not_needed_is_not_read(store: Store, store_path: Path) -> None:
    """Cleared results and what a summary replaced may be damaged without harm."""
    session = store.create_session("/work")
    call = ToolCallPart("read", {}, "c1")

    def iterate(log: TurnWriter, number: int) -> None:
        reply = log.message(ModelResponse(parts=[TextPart(f"reply {number}"), call]))
        log.seal(number, [reply, [log.result(number, filled(0, call, f"result {number}"))]])

    with store.begin_turn(head(session), None) as log:
        for number in range(4):
            iterate(log, number)
        log.compact(log.message(said("summary")), 2)
        log.prune(1)
        with closing(sqlite3.connect(store_path)) as connection:
            connection.executescript("DROP TRIGGER log_never_updated")
            damage = "UPDATE log SET content = 'damaged' WHERE content LIKE '%reply 0%' OR content LIKE '%result 2%'"
            assert connection.execute(damage).rowcount == 2
            connection.commit()
        history = store.load_messages(session)
    assert history.skipped == 0
    shown = [part for message in history.messages for part in message.parts]
    contents = [part.content for part in shown if isinstance(part, UserPromptPart | TextPart | ToolReturnPart)]
    assert contents == ["summary", "reply 2", PLACEHOLDER, "reply 3", "result 3"]
