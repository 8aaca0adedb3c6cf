"""Each kind of row: its facts as they are written, and the body that is read from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.usage import RunUsage

from ...nodes.deps import Visit
from ...nodes.outcome import Outcome, Played, TurnResult
from ...nodes.slots import CallStatus, Slot
from ...tools.effects import Effect
from .codec import call_of, plain_call, read_messages, read_result, write_result
from .owner import Owner
from .records import (
    Body,
    BranchBody,
    CompactBody,
    ExternalBody,
    FailureBody,
    IntentBody,
    MessageBody,
    PruneBody,
    ReleaseBody,
    RepairBody,
    ResultBody,
    ResumeBody,
    SealBody,
    SessionBody,
    TreeBody,
    TurnHead,
    VisitBody,
)

_USAGE = TypeAdapter(RunUsage)
_EPOCH = datetime.fromtimestamp(0, UTC)


def micros(at: datetime) -> int:
    """Microseconds since the epoch."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def time_of(at: int) -> datetime:
    """The time of a row; the epoch for one that is damaged beyond what a calendar holds."""
    try:
        return _EPOCH + timedelta(microseconds=at)
    except OverflowError:
        return _EPOCH


def owner_facts(epoch: int, owner: Owner) -> dict[str, Any]:
    return {"epoch": epoch, "owner": asdict(owner)}


def owner_of(facts: Any) -> Owner:
    return Owner(**facts["owner"])


def setup_facts(head: TurnHead) -> dict[str, Any]:
    """What turns with the same settings share."""
    return {
        "flow": head.flow,
        "lineup": dict(head.lineup),
        "sources": dict(head.sources),
        "graph": dict(head.graph),
        "graph_hash": head.graph_hash,
        "model": head.model,
        "policy": head.policy,
        "workdir": head.workdir,
        "instructions": head.instructions,
        "limits": dict(head.limits),
        "asked": dict(head.asked),
    }


def visit_facts(visit: Visit, changed: Mapping[str, Any], lineup: Mapping[str, str]) -> dict[str, Any]:
    facts: dict[str, Any] = {"n": visit.number, "role": visit.role, "to": visit.to, "ms": round(visit.duration_ms, 3)}
    if visit.error is not None:
        facts["error"] = visit.error
    if lineup.get(visit.role) != visit.cls:
        facts["cls"] = visit.cls
    if changed:
        facts["changed"] = dict(changed)
    return facts


def intent_facts(slot: Slot, call: ToolCallPart | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "position": slot.position,
        "call_id": slot.call.tool_call_id,
        "name": slot.call.tool_name,
        "effect": slot.effect.value,
    }
    return facts if call is None else {**facts, "call": plain_call(call)}


def result_row(
    slot: Slot, status: CallStatus, part: ToolReturnPart, call: ToolCallPart | None
) -> tuple[dict[str, Any], str]:
    """The facts and the content of a result.

    The time of one whose other fields its call tells is a fact, so that it can be cleared without being read.
    """
    told = _is_told_by(slot.call, part)
    # First, and of one length, since a history is read with it and without the rest.
    facts: dict[str, Any] = {"ts": _iso(part.timestamp)} if told else {}
    facts |= {
        "position": slot.position,
        "status": status.value,
        "effect": slot.effect.value,
        "duration_ms": slot.duration_ms,
    }
    if slot.edited:
        facts["edited"] = list(slot.edited)
    if call is not None:
        facts["call"] = plain_call(call)
    return facts, write_result(part, without=("timestamp",) if told else ())


def _iso(at: datetime) -> str:
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _is_told_by(call: ToolCallPart, part: ToolReturnPart) -> bool:
    return (
        type(part) is ToolReturnPart
        and (part.tool_name, part.tool_call_id) == (call.tool_name, call.tool_call_id)
        and part.tool_kind is None
        and part.retry is None
        and part.timestamp.utcoffset() is not None
    )


def result_json(facts: Any, content: bytes) -> bytes:
    """The whole JSON of a result that was split into facts and content."""
    if (at := facts.get("ts")) is None:
        return content
    return b'{"timestamp":"%b",%b' % (at.encode(), content[1:])


def end_facts(result: TurnResult, head: TurnHead, last_answer: str | None) -> dict[str, Any]:
    """What the turn's head does not say already, without the answer if it is the text of the last sealed reply."""
    usage = _USAGE.dump_python(result.usage, mode="json", exclude_defaults=True)
    facts: dict[str, Any] = {
        "outcome": result.outcome.value,
        "iterations": result.iterations,
        "usage": usage,
        "duration_ms": result.duration_ms,
    }
    told: tuple[tuple[str, Any, Any], ...] = (
        ("answer", result.answer, last_answer),
        ("error", result.error, None),
        ("cost", None if result.cost is None else str(result.cost), None),
        ("edited", list(result.edited_files), []),
        ("saved", result.saved, True),
        ("flow", result.flow, head.flow),
        ("model", result.model, head.model),
        ("graph_hash", result.graph_hash, head.graph_hash),
    )
    for name, value, default in told:
        if value != default:
            facts[name] = value
    if dict(result.lineup) != _lineup(head):
        facts["lineup"] = {role: [played.cls, played.source] for role, played in result.lineup.items()}
    return facts


def result_of(facts: Any, head: TurnHead, last_answer: str | None) -> TurnResult:
    """What `end_facts` wrote."""
    lineup = facts.get("lineup")
    return TurnResult(
        outcome=Outcome(facts["outcome"]),
        turn_id=head.turn_id,
        session_id=head.session_id,
        request_id=head.request_id,
        flow=facts.get("flow", head.flow),
        model=facts.get("model", head.model),
        answer=facts.get("answer", last_answer or ""),
        error=facts.get("error"),
        iterations=facts["iterations"],
        usage=_USAGE.validate_python(facts["usage"]),
        cost=None if facts.get("cost") is None else Decimal(facts["cost"]),
        duration_ms=facts["duration_ms"],
        edited_files=tuple(facts.get("edited", ())),
        saved=facts.get("saved", True),
        lineup=_lineup(head) if lineup is None else {role: Played(*played) for role, played in lineup.items()},
        graph_hash=facts.get("graph_hash", head.graph_hash),
    )


def _lineup(head: TurnHead) -> dict[str, Played]:
    return {role: Played(cls, head.sources.get(role, "")) for role, cls in head.lineup.items()}


def head_of(facts: Any, *, turn_id: str, session_id: str, request_id: str) -> TurnHead:
    """The head of a turn with the setup of these facts."""
    return TurnHead(turn_id=turn_id, session_id=session_id, request_id=request_id, **facts)


@dataclass(frozen=True)
class Row:
    """A row of a turn, whose body needs no other row but the lineup of its turn's setup."""

    kind: str
    iteration: int
    facts: Any
    content: bytes | None

    def body(self, lineup: Mapping[str, str]) -> Body:
        """What the row says.

        Raises:
            ValueError, TypeError, KeyError: it is damaged, or of a kind that this version does not know.
        """
        facts, content = self.facts, self.content or b""
        match self.kind:
            case "message":
                return MessageBody(read_messages([content])[0], facts.get("replaces"))
            case "intent":
                effect = Effect(facts["effect"])
                return IntentBody(facts["position"], facts["call_id"], facts["name"], effect, _call(facts))
            case "result":
                return ResultBody(
                    position=facts["position"],
                    status=CallStatus(facts["status"]),
                    effect=Effect(facts["effect"]),
                    duration_ms=facts["duration_ms"],
                    edited=tuple(facts.get("edited", ())),
                    part=read_result(result_json(facts, content)),
                    call=_call(facts),
                )
            case "visit":
                role = facts["role"]
                cls = facts.get("cls", lineup.get(role, ""))
                visit = Visit(facts["n"], role, cls, self.iteration, facts["to"], facts["ms"], facts.get("error"))
                return VisitBody(visit, facts.get("changed", {}))
            case "external":
                return ExternalBody(read_messages([content])[0], facts.get("turn"))
            case "resume":
                return ResumeBody(facts["epoch"], owner_of(facts))
            case "seal":
                return SealBody(sealed(facts), tuple(facts.get("replies", ())))
            case _:
                return _SMALL[self.kind](**facts)


_SMALL: Mapping[str, type[Body]] = {
    "session": SessionBody,
    "branch": BranchBody,
    "repair": RepairBody,
    "prune": PruneBody,
    "compact": CompactBody,
    "tree": TreeBody,
    "failure": FailureBody,
    "release": ReleaseBody,
}


def sealed(facts: Any) -> tuple[int | tuple[int, ...], ...]:
    """What a seal names."""
    items: Sequence[int | Sequence[int]] = facts["items"]
    return tuple(item if isinstance(item, int) else tuple(item) for item in items)


def is_reply(message: object) -> bool:
    return isinstance(message, ModelResponse)


def prompt_of(content: bytes) -> ModelRequest:
    """The prompt in a turn's row.

    Raises:
        ValueError: the row holds none.
    """
    (message,) = read_messages([content])
    if not isinstance(message, ModelRequest):
        raise ValueError("a reply stands where the prompt should")
    return message


def _call(facts: Any) -> ToolCallPart | None:
    return call_of(facts["call"]) if "call" in facts else None
