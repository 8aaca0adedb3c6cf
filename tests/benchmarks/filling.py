"""Sessions of any length, written as turns write them."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.usage import RequestUsage, RunUsage
from turngraph import STANDARD, Store
from turngraph.flows.store import TurnHead
from turngraph.nodes.deps import Visit
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.said import prompt_message
from turngraph.nodes.usage import cost_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WORDS = "the loan is due in three weeks and the shelf knows who has the book "


def head(session: str) -> TurnHead:
    """A new turn of a session."""
    return TurnHead(
        turn_id=uuid.uuid4().hex,
        session_id=session,
        request_id="r" * 8,
        flow="standard",
        lineup={role: played.cls for role, played in STANDARD.played.items()},
        model="test:model",
        policy="Auto",
        workdir="/work",
        instructions="Be brief.",
    )


def visit(number: int, role: str, iteration: int, to: str) -> Visit:
    return Visit(number, role, STANDARD.played[role].cls, iteration, to, 123.456)


def text(size: int, number: int) -> str:
    """So many characters, not the same in any two messages."""
    return (f"{number}: " + WORDS * (size // len(WORDS) + 1))[:size]


def reply(size: int, number: int) -> ModelResponse:
    usage = RequestUsage(input_tokens=1000 + number, output_tokens=size // 4)
    return ModelResponse(parts=[TextPart(text(size, number))], usage=usage, model_name="model", timestamp=NOON)


def filled(store: Store, messages: int, size: int, *, session: str | None = None) -> str:
    """A session with so many messages of so many characters together, a turn for each two."""
    session = session or store.create_session("/work")
    each = size // messages
    for number in range(messages // 2):
        said(store, session, each, number)
    return session


def said(store: Store, session: str, size: int, number: int) -> None:
    """One turn without tools, with the rows that a run writes."""
    begun = head(session)
    with store.begin_turn(begun, prompt_message(text(size, number), NOON)) as log:
        log.visit(visit(1, "prepare_history", 0, "stream"), {"history": 2 * number})
        answer = reply(size, number)
        row = log.message(answer)
        asked = {"iteration": 1, "reply_row": row, "reply": "said"}
        log.visit(visit(2, "stream", 1, "process_node"), asked)
        counted = {"task_completed": True, "usage": {"requests": 1, "input_tokens": 1000, "output_tokens": size // 4}}
        log.visit(visit(3, "process_node", 1, "persist"), counted | {"answer": True})
        log.seal(1, [log.prompt_row, row])
        log.visit(visit(4, "persist", 1, "end"), {"reply_row": None, "unsealed": []})
        log.end(_completed(begun, answer))


def _completed(begun: TurnHead, answer: ModelResponse) -> TurnResult:
    (part,) = answer.parts
    assert isinstance(part, TextPart)
    return TurnResult(
        outcome=Outcome.COMPLETED,
        turn_id=begun.turn_id,
        session_id=begun.session_id,
        request_id=begun.request_id,
        flow=begun.flow,
        model=begun.model,
        answer=part.content,
        error=None,
        iterations=1,
        usage=RunUsage(requests=1, output_tokens=answer.usage.output_tokens),
        cost=cost_of(answer),
        duration_ms=803,
        edited_files=(),
    )
