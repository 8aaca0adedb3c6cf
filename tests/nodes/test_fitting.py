"""A history that grows toward the model's window is cut before it is refused, and once more after it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from turngraph.nodes.errors import ContextOverflow, ProviderError
from turngraph.nodes.events import Notice
from turngraph.nodes.fitting import fit, make_room
from turngraph.nodes.history.compact import compacted
from turngraph.nodes.history.prune import clear
from turngraph.nodes.history.summary import is_summary
from turngraph.nodes.history.tokens import estimate, tokens_of, without_last_usage
from turngraph.nodes.model_port import ModelPort
from turngraph.nodes.node import Ctx

from .acting import Actor, Delta, Scene, call, reading
from .history.histories import calls, results, says, user, whole
from .history.validators import order

pytestmark = pytest.mark.anyio

REFUSED = ModelHTTPError(400, "actor", {"message": "prompt is too long: 9 tokens > 8 maximum"})


class Fitting(Scene):
    """A turn about to ask, with `stored` behind it and its prompt at the end, for a model of so many tokens."""

    def __init__(
        self,
        stored: Sequence[ModelMessage],
        *replies: Sequence[Delta],
        window: int | None = 10_000,
        max_tokens: int | None = None,
        instructions: str = "",
        prompt: str | None = "go on",
    ) -> None:
        super().__init__(Actor(*replies), reading(look))
        port = ModelPort(self.model, instructions=instructions, max_tokens=max_tokens, context_window=window)
        self.deps = replace(self.deps, model=port)
        self.ctx = Ctx(state=self.state, deps=self.deps)
        self.stored = list(stored)
        self.prompt = [] if prompt is None else [user(prompt)]
        self.state.session.messages = [*self.stored, *self.prompt]
        self.state.unsealed = [self.ledger.message(message) for message in self.prompt]

    def written(self, row: int) -> ModelRequest:
        kind, (message, _) = self.ledger.rows[row - 1]
        assert kind == "message"
        assert isinstance(message, ModelRequest)
        return message

    @property
    def messages(self) -> list[ModelMessage]:
        return self.state.session.messages

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.memory.events if isinstance(event, Notice)]

    @property
    def asked(self) -> list[str]:
        """What each request for a summary said."""
        return [str(part.content) for request in self.model.requests for m in request for part in m.parts]  # type: ignore[union-attr]


def look(n: int = 0) -> int:
    return n


def rounds(count: int, size: int) -> list[ModelMessage]:
    """One prompt, and so many calls with results of so many tokens."""
    history: list[ModelMessage] = [user("all of it")]
    for number in range(count):
        history += [calls(f"c{number}"), results(**{f"c{number}": "r" * 4 * size})]
    return history


def talk(count: int, size: int) -> list[ModelMessage]:
    """So many questions with answers of so many tokens."""
    return [m for number in range(count) for m in (user(f"question {number}"), says("s" * 4 * size))]


async def test_what_fits_is_left_alone() -> None:
    for scene in (Fitting(talk(8, 1_000)), Fitting(talk(100, 1_000), window=None)):
        before = list(scene.messages)
        await fit(scene.ctx)
        assert all(one is other for one, other in zip(scene.messages, before, strict=True))
        assert (scene.model.requests, scene.ledger.rows[1:], scene.notices) == ([], [], [])


async def test_old_results_go_first_and_nothing_is_asked() -> None:
    scene = Fitting([*rounds(10, 900), says("done")])
    await fit(scene.ctx)
    (whole_replies,) = scene.ledger.of("prune")
    assert scene.messages == [*without_last_usage(clear(scene.stored, whole_replies)), *scene.prompt]
    assert scene.state.history_row == len(scene.ledger.rows)
    assert scene.model.requests == []
    assert "old tool results left out" in scene.notices[0]
    assert estimate(scene.messages) < 5_000
    await fit(scene.ctx)
    assert len(scene.notices) == 1


async def test_then_the_older_part_is_summarised_by_the_model() -> None:
    reply = ["The user asked ", "twelve things."]
    scene = Fitting(talk(12, 900), reply, reply, instructions="Be brief.")
    await fit(scene.ctx)
    messages = [message for message, _ in scene.ledger.of("message")]
    written = messages[-1]
    assert messages[0] == scene.prompt[0]
    assert all(isinstance(message, ModelResponse) for message in messages[1:-1])  # what the model said is kept too
    (row, kept) = scene.ledger.of("compact")[0]
    assert scene.ledger.rows[row - 1] == ("message", (written, None))
    assert scene.messages == [*compacted(scene.stored, written, kept), *scene.prompt]
    assert order(scene.messages) is None
    assert "The user asked twelve things." in str(written.parts[0].content)
    assert 0 < kept < 12
    assert [info.function_tools for info in scene.model.infos] == [[], []]
    assert not any("Be brief." in str(info.instructions) for info in scene.model.infos)
    assert "question 0" in scene.asked[0]
    assert scene.state.usage.requests == 2
    assert "older messages summarised" in scene.notices[0]
    await fit(scene.ctx)
    assert len(scene.model.requests) == 2


async def test_one_long_row_of_calls_is_cut_in_its_middle() -> None:
    """No prompt of the user stands between, and the newest results have no reply yet."""
    stored = [
        m
        for number in range(40)
        for m in (
            replace(calls(f"c{number}"), parts=[*says("t" * 1_200).parts, *calls(f"c{number}").parts]),
            results(**{f"c{number}": "r"}),
        )
    ]
    scene = Fitting([user("all of it"), *stored], ["Half is done."], prompt=None)
    await fit(scene.ctx)
    assert order(scene.messages) is None
    assert scene.messages[-1] == stored[-1]
    assert "all of it" in str(scene.messages[0].parts[0])
    assert estimate(scene.messages) < 6_000


async def test_new_results_are_counted_on_top_of_the_last_usage() -> None:
    used = replace(says("a"), usage=replace(says("a", used=7_000).usage))
    stored = [user("one"), says("b" * 8_000), user("x"), used, user("go"), calls("a"), results(a="r" * 4 * 1_000)]
    stored[5] = replace(calls("a"), usage=says("", used=8_500).usage)
    scene = Fitting(stored, ["Short."], prompt=None)
    await fit(scene.ctx)
    assert scene.ledger.of("compact")


@pytest.mark.parametrize("reply", [[call("look", n=1)], [" \n"], ["x" * 200_000]], ids=["call", "blank", "longer"])
async def test_a_summary_that_is_none_is_made_without_the_model(reply: list[Delta]) -> None:
    scene = Fitting(talk(12, 900), reply, reply)
    await fit(scene.ctx)
    text = str(scene.messages[0].parts[0])
    assert "made without the model" in text
    assert "question 3" in text
    assert order(scene.messages) is None
    assert any("left out with a list of what was done" in notice for notice in scene.notices)


async def test_a_summary_request_that_is_too_large_is_made_in_smaller_pieces() -> None:
    scene = Fitting(talk(12, 900), [REFUSED], *[[f"part {number}"] for number in range(8)])
    await fit(scene.ctx)
    first, *smaller = scene.asked
    assert len(smaller) >= 2
    assert all(len(text) < len(first) for text in smaller)
    assert "part 0" in smaller[1]
    assert f"part {len(smaller) - 1}" in str(scene.messages[0].parts[0])
    hopeless = Fitting(talk(12, 900), [REFUSED], [REFUSED])
    await fit(hopeless.ctx)
    assert "made without the model" in str(hopeless.messages[0].parts[0])
    assert len(hopeless.model.requests) == 2


async def test_a_history_larger_than_the_window_is_summarised_in_pieces_that_fit() -> None:
    scene = Fitting(talk(60, 900), *[[f"part {number}"] for number in range(20)])
    await fit(scene.ctx)
    assert len(scene.asked) > 1
    assert all(len(text) // 4 < 9_000 for text in scene.asked)
    assert estimate(scene.messages) < 9_000


async def test_a_provider_that_fails_changes_nothing() -> None:
    scene = Fitting(talk(12, 900), [ModelHTTPError(500, "actor")])
    before = list(scene.messages)
    with pytest.raises(ProviderError, match="HTTP 500"):
        await fit(scene.ctx)
    assert (scene.messages, scene.ledger.of("compact")) == (before, [])


async def test_what_cannot_be_left_out_ends_the_turn_with_the_cause() -> None:
    """Instructions, tools and the newest messages are more than the window: no summary is paid for."""
    scene = Fitting(talk(3, 100), instructions="i" * 4 * 6_000, prompt="p" * 4 * 5_000)
    with pytest.raises(ContextOverflow, match=r"instructions and tools are ~60\d\d tokens and the newest") as caught:
        await fit(scene.ctx)
    assert "start a new session" in str(caught.value)
    assert scene.model.requests == []


async def test_a_short_history_is_not_summarised_for_nothing() -> None:
    """The newest messages alone come near the window; what is before them would hardly make room."""
    scene = Fitting(talk(2, 20), prompt="p" * 4 * 9_300)
    await fit(scene.ctx)
    assert (scene.model.requests, scene.ledger.of("compact")) == ([], [])


async def test_after_a_refusal_about_half_goes_whatever_was_thought() -> None:
    for window in (None, 1_000_000):
        scene = Fitting(talk(12, 900), ["Short."], window=window)
        before = estimate(scene.messages)
        await make_room(scene.ctx, ContextOverflow("refused"))
        assert order(scene.messages) is None
        assert estimate(scene.messages) < before // 2


async def test_a_refusal_of_what_cannot_be_cut_says_both() -> None:
    scene = Fitting([], prompt="p" * 4 * 9_000, window=None)
    with pytest.raises(ContextOverflow, match="refused; what cannot be left out is too large"):
        await make_room(scene.ctx, ContextOverflow("refused"))
    assert (scene.model.requests, scene.ledger.rows[1:]) == ([], [])


async def test_the_next_request_is_made_of_the_new_history() -> None:
    scene = Fitting(talk(12, 900), ["first"], ["Short."], ["Short."], ["second"])

    async def ask() -> list[ModelMessage]:
        async with scene.deps.model.stream(scene.messages, [], None) as response:
            async for _ in response:
                pass
        return scene.model.requests[-1]

    assert len(await ask()) == 25
    await fit(scene.ctx)
    sent = await ask()
    assert is_summary(sent[0].parts[0])
    assert len(sent) < 12


@settings(max_examples=25)
@given(whole(most_turns=6, longest=6_000), st.integers(500, 6_000), st.booleans())
async def test_whatever_the_history_what_fits_is_valid_and_loads_the_same(
    history: list[ModelMessage], window: int, refused: bool
) -> None:
    """What the log says of cuts, applied to what was stored, gives what is sent."""
    scene = Fitting(history, *[["Short."]] * 20, window=window)
    before = estimate(scene.messages)
    try:
        await (make_room(scene.ctx, ContextOverflow("refused")) if refused else fit(scene.ctx))
    except ContextOverflow:
        pass
    else:
        assert estimate(scene.messages) <= before
    assert order(joined(scene.messages)) is None
    loaded = list(history)
    for kind, what in scene.ledger.rows:
        if kind == "prune":
            loaded = clear(loaded, what)
        elif kind == "compact":
            loaded = compacted(loaded, scene.written(what[0]), what[1])
    assert without_last_usage([*loaded, *scene.prompt]) == without_last_usage(scene.messages)
    assert sum(map(tokens_of, loaded)) <= sum(map(tokens_of, history))


def joined(messages: list[ModelMessage]) -> list[ModelMessage]:
    """The messages with the prompt joined to a request before it, as it is sent."""
    *earlier, last = messages
    if earlier and isinstance(earlier[-1], ModelRequest):
        return [*earlier[:-1], ModelRequest(parts=[*earlier[-1].parts, *last.parts])]  # type: ignore[list-item]
    return messages
