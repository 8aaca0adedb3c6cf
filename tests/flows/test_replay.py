"""A recorded turn runs again as it ran, offline; where something differs, the first difference is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.toolsets import FunctionToolset
from pydantic_graph import Edge
from turngraph import nodes
from turngraph.flows.flow import STANDARD, Flow
from turngraph.flows.replay import Replayed, replay_turn
from turngraph.flows.resume import resume_turn
from turngraph.flows.runner import run_turn
from turngraph.flows.store import Store
from turngraph.flows.testing.model import Reply, ScriptedModel
from turngraph.flows.testing.scripts import SCRIPTS, Script, tools
from turngraph.flows.testing.stage import ITERATIONS
from turngraph.nodes.deps import Limits
from turngraph.nodes.errors import ProviderError, StoreError, UsageError
from turngraph.nodes.node import Ctx, go
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.results import settle
from turngraph.nodes.slots import CallStatus
from turngraph.nodes.variants.dry_run import NOT_RUN, DryRunExecute
from turngraph.nodes.variants.window import window
from turngraph.tools.effects import Effect, declare
from turngraph.tools.policy import AskFirst, CallRequest, Decision, Policy, Refuse

from .journal.test_past import SUMMARISED, consumed, long_session, shortened
from .stored import head, said
from .test_resume import REPLIES, WRITES, Cut, World, power_cut, replies_in
from .variants import VARIANTS, tools_beside

pytestmark = pytest.mark.anyio

LOOK = ToolCallPart("look", {"n": 1})
CHANGE = ToolCallPart("change", {"n": 2})


async def record(
    store: Store,
    *replies: Reply,
    flow: Flow = STANDARD,
    session: str | None = None,
    toolsets: Sequence[Any] | None = None,
    policy: Policy | None = None,
) -> TurnResult:
    return await run_turn(
        "work",
        model=ScriptedModel(*replies),
        toolsets=[tools()] if toolsets is None else toolsets,
        flow=flow,
        store=store,
        session=session,
        policy=policy,
        limits=Limits(max_iterations=ITERATIONS),
    )


def as_recorded(replayed: Replayed) -> bool:
    return replayed.departure is None and replayed.visits == replayed.recorded > 0


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
async def test_every_turn_replays_as_it_was_recorded(script: Script, variant: str) -> None:
    flow = VARIANTS[variant]()
    with Store.in_memory() as store:
        session = store.create_session("")
        for _ in range(2):  # the second with a history
            result = await record(store, *script.replies, flow=flow, session=session, toolsets=tools_beside(variant))
            rows = len(store.journal(result.turn_id))
            replayed = await replay_turn(store, result.turn_id, flow=flow)
            assert as_recorded(replayed), replayed.departure
            assert len(store.journal(result.turn_id)) == rows


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_a_turn_that_was_resumed_replays(before: bool) -> None:
    for number in range(1, WRITES):
        with Store.in_memory() as store:
            world, session = World(), store.create_session("")
            with power_cut(number, before=before), pytest.raises(BaseException) as caught:  # noqa: PT011
                await run_turn("work", model=world.model, toolsets=[world.tools()], store=store, session=session)
            assert isinstance(caught.value, Cut | BaseExceptionGroup)
            (turn,) = store.turns(session)
            model = ScriptedModel(*REPLIES[replies_in(store, turn) :])
            await resume_turn(turn, store=store, model=model, toolsets=[world.tools()])
            replayed = await replay_turn(store, turn)
            assert as_recorded(replayed), (number, replayed.departure)


@pytest.mark.parametrize("script", SUMMARISED)
async def test_a_turn_that_shortened_its_history_replays_cut_off_or_not(script: str) -> None:
    replies, limits = SUMMARISED[script]
    with Store.in_memory() as store:
        session = long_session(store)
        result = await shortened(store, session, ScriptedModel(*replies), limits)
        assert as_recorded(await replay_turn(store, result.turn_id))
    for number in range(1, 8):
        with Store.in_memory() as store:
            session = long_session(store)
            with power_cut(number, before=False), pytest.raises(BaseException):  # noqa: B017, PT011
                await shortened(store, session, ScriptedModel(*replies), limits)
            turn = store.turns(session)[-1]
            model = ScriptedModel(*replies[consumed(store.journal(turn)) :])
            await resume_turn(turn, store=store, model=model, toolsets=[World().tools()])
            replayed = await replay_turn(store, turn)
            assert as_recorded(replayed), (number, replayed.departure)


async def test_a_turn_that_was_cut_off_replays_to_where_its_record_ends(store: Store) -> None:
    world, session = World(), store.create_session("")
    with power_cut(4, before=False), pytest.raises(BaseException):  # noqa: B017, PT011
        await run_turn("work", model=world.model, toolsets=[world.tools()], store=store, session=session)
    (turn,) = store.turns(session)
    assert as_recorded(await replay_turn(store, turn))


async def test_a_turn_that_was_cut_off_at_its_beginning_has_nothing_to_replay(store: Store) -> None:
    with store.begin_turn(head(store.create_session(""), "0" * 32), said("hello")):
        pass
    with pytest.raises(StoreError, match="has no visits to replay"):
        await replay_turn(store, "0" * 32)


async def refuse(request: CallRequest) -> Decision:
    return Refuse("not today")


@pytest.mark.parametrize("policy", [AskFirst(refuse), None])
async def test_what_the_policy_decided_is_in_the_record(store: Store, policy: Policy | None) -> None:
    careful = FunctionToolset[Any]()

    def look(n: int) -> str:
        return f"saw {n}"

    careful.add_function(look, metadata=declare(Effect.READ_ONLY), requires_approval=True)
    result = await record(store, LOOK, "Done.", toolsets=[careful], policy=policy)
    assert result.outcome is (Outcome.COMPLETED if policy is None else Outcome.REFUSED)
    replayed = await replay_turn(store, result.turn_id)
    assert as_recorded(replayed), replayed.departure


async def test_a_text_that_names_a_tool_which_was_not_called_is_read_as_it_was(store: Store) -> None:
    result = await record(store, "the function {look}")
    replayed = await replay_turn(store, result.turn_id)
    assert as_recorded(replayed), replayed.departure


class Skipping(nodes.Dispatch):
    """Refuses to run anything."""

    async def run(
        self, ctx: Ctx
    ) -> Annotated[nodes.Execute, Edge("calls to run")] | Annotated[nodes.Persist, Edge("nothing to run")]:
        await super().run(ctx)
        return go(ctx, nodes.Persist)


class Guiding(nodes.ProcessNode):
    """Says something with the next request."""

    async def run(
        self, ctx: Ctx
    ) -> Annotated[nodes.Dispatch, Edge("calls")] | Annotated[nodes.Persist, Edge("an answer, or nothing usable")]:
        following = await super().run(ctx)
        ctx.state.guidance = "Be brief."
        return following


class Writing(nodes.ProcessNode):
    """Rewrites the reply."""

    async def run(
        self, ctx: Ctx
    ) -> Annotated[nodes.Dispatch, Edge("calls")] | Annotated[nodes.Persist, Edge("an answer, or nothing usable")]:
        following = await super().run(ctx)
        ctx.state.reply = ModelResponse(parts=[TextPart("Another.")])
        ctx.state.reply_row = ctx.deps.log.message(ctx.state.reply, replaces=ctx.state.reply_row)
        return following


class Twice(nodes.Stream):
    """Asks twice and takes the second reply."""

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        await super().run(ctx)
        ctx.state.iteration -= 1
        return await super().run(ctx)


class Saying(nodes.Stream):
    """Puts something before the prompt."""

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        ctx.state.session.messages.insert(0, ModelRequest(parts=[UserPromptPart("First of all:")]))
        return await super().run(ctx)


class Inventing(nodes.Dispatch):
    """Makes a second call of its own."""

    async def run(
        self, ctx: Ctx
    ) -> Annotated[nodes.Execute, Edge("calls to run")] | Annotated[nodes.Persist, Edge("nothing to run")]:
        if ctx.state.reply is not None:
            ctx.state.reply.parts = [*ctx.state.reply.parts, ToolCallPart("change", {"n": 9}, "invented")]
        return await super().run(ctx)


@pytest.mark.parametrize(
    ("variant", "what", "at", "recorded", "replayed"),
    [
        (Skipping, "transition", (4, "dispatch"), "dispatch -> execute", "dispatch -> persist"),
        (Guiding, "state", (3, "process_node"), "guidance = None", "guidance = 'Be brief.'"),
        (Writing, "writes", (3, "process_node"), "", "(reply) text: Another."),
        (Twice, "request", (2, "stream"), "no further request", "a request after (request) user-prompt: ["),
        (
            Saying,
            "request",
            (2, "stream"),
            "message 1 (request) user-prompt: [",
            "message 1 (request) user-prompt: Fir",
        ),
        (Inventing, "calls", (4, "dispatch"), "no call 3", "a call of change"),
        (DryRunExecute, "calls", (5, "execute"), "the result ok", "the result cancelled of change"),
    ],
    ids=lambda one: one.__name__ if isinstance(one, type) else "",
)
async def test_the_first_departure_is_named_with_both_sides(
    store: Store, variant: Any, what: str, at: tuple[int, str], recorded: str, replayed: str
) -> None:
    result = await record(store, ("I look.", LOOK, CHANGE), "Done.")
    found = await replay_turn(store, result.turn_id, flow=STANDARD.swap(variant))
    departure = found.departure
    assert departure is not None
    assert (departure.what, departure.visit, departure.role) == (what, *at)
    assert departure.recorded.startswith(recorded)
    assert departure.replayed.startswith(replayed)
    assert (found.visits, found.recorded) == (at[0] - 1, 9)


async def test_a_history_that_was_shorter_is_named(store: Store) -> None:
    session = store.create_session("")
    for _ in range(2):
        await record(store, "Done.", session=session)
    result = await record(store, "Done.", session=session)
    departure = (await replay_turn(store, result.turn_id, flow=STANDARD.swap(window(1)))).departure
    assert departure is not None
    assert (departure.visit, departure.role, departure.what) == (1, "prepare_history", "state")
    assert (departure.recorded, departure.replayed) == ("history = 4", "history = 2")


class Retrying(nodes.Stream):
    """Asks again where the server fails."""

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        try:
            return await super().run(ctx)
        except ProviderError:
            ctx.state.iteration -= 1
            return await super().run(ctx)


@pytest.mark.parametrize("flow", [STANDARD, STANDARD.swap(Retrying)], ids=["standard", "retrying"])
async def test_a_failure_replays_and_what_would_come_after_it_is_not_known(store: Store, flow: Flow) -> None:
    result = await record(store, ProviderError("the server is down"))
    assert as_recorded(await replay_turn(store, result.turn_id, flow=flow))


async def test_a_result_that_says_something_else_is_named(store: Store) -> None:
    result = await record(store, CHANGE, "Done.", flow=STANDARD.swap(DryRunExecute))

    class Otherwise(DryRunExecute):
        async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("results in")]:
            for slot in ctx.state.session.tool_registry.open:
                await settle(ctx.state, ctx.deps, slot, CallStatus.CANCELLED, "Not today.")
            ctx.state.batches = []
            return go(ctx, nodes.Persist)

    departure = (await replay_turn(store, result.turn_id, flow=STANDARD.swap(Otherwise))).departure
    assert departure is not None
    assert (departure.visit, departure.role, departure.what) == (5, "execute", "calls")
    assert (departure.recorded, departure.replayed) == (f"the result {NOT_RUN}", "the result Not today.")


async def test_a_turn_that_is_not_there_is_said(store: Store) -> None:
    with pytest.raises(UsageError, match="there is no turn"):
        await replay_turn(store, "f" * 32)
