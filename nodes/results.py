"""From whatever a tool gives back to a filled slot: stored, shown, and safe to serialise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic_ai.messages import (
    BinaryContent,
    ToolReturn,
    ToolReturnPart,
    is_multi_modal_content,
    tool_return_content_ta,
)
from pydantic_core import to_json, to_jsonable_python

from .deps import KnownCall, TurnDeps
from .events import ToolFinished
from .reply import encodable
from .slots import CallStatus, Slot
from .state import TurnState

UNKNOWN_OUTCOME = (
    "Interrupted while it was running: its outcome is unknown and its effects may have happened, in whole or in part. "
    "Check before doing it again."
)
LONGEST_SHOWN_RESULT = 50_000
DEEPEST_RESULT = 100
LONGEST_INTEGER = 4_000
"""In bits: Python itself reads no more than 4,300 decimal digits."""


async def settle(
    state: TurnState, deps: TurnDeps, slot: Slot, status: CallStatus, result: ToolReturnPart | Any
) -> None:
    """Fill a slot, once and for all, write the result to the store, and show it; secrets are taken out before."""
    secrets = deps.secrets
    if isinstance(result, ToolReturnPart):
        part = cast(ToolReturnPart, result)
        slot.fill_with(status, replace(part, content=secrets.redact_data(part.content)))
    else:
        slot.fill(status, secrets.redact_data(result))
    state.edited_files += [path for path in slot.edited if path not in state.edited_files]
    finished = _finished(slot, status)
    try:
        slot.row = deps.log.result(state.iteration, slot)
    finally:  # what cannot be written is shown all the same
        await deps.sink.emit(finished)


async def recall(state: TurnState, deps: TurnDeps, slot: Slot, known: KnownCall) -> None:
    """Fill a slot with what an earlier run of the node came to; where nobody knows, that is the result."""
    slot.duration_ms, slot.edited = known.duration_ms, list(known.edited)
    if known.part is None:
        await settle(state, deps, slot, CallStatus.UNKNOWN, UNKNOWN_OUTCOME)
        return
    slot.fill_with(known.status, known.part)
    slot.row = known.row
    state.refused = state.refused or known.status is CallStatus.REFUSED
    state.usage.tool_calls += known.status is CallStatus.OK
    state.edited_files += [path for path in slot.edited if path not in state.edited_files]
    await deps.sink.emit(_finished(slot, known.status))


def _finished(slot: Slot, status: CallStatus) -> ToolFinished:
    shown, size = shown_result(slot)
    return ToolFinished(
        call_id=slot.call.tool_call_id,
        name=slot.call.tool_name,
        status=status,
        args=slot.call.args_as_dict(),
        result=shown,
        size=size,
        duration_ms=slot.duration_ms,
        edited=tuple(slot.edited),
    )


def unwrap(result: Any) -> tuple[Any, list[str]]:
    """The content of a tool's return for the model, and the files it says it edited.

    A `ToolReturn`'s extra content follows its value in one list, so that a call has one part as its result.
    """
    if not isinstance(result, ToolReturn):
        return storable(result), []
    returned = cast(ToolReturn[Any], result)
    content: Any = returned.return_value
    if returned.content is not None:
        extra = [returned.content] if isinstance(returned.content, str) else list(returned.content)
        content = [content, *extra]
    metadata: Any = returned.metadata
    edited: Any = cast(dict[str, Any], metadata).get("edited") if isinstance(metadata, dict) else None
    paths = cast(Sequence[Any], edited) if isinstance(edited, list | tuple) else ()
    return storable(content), [encodable(str(path)) for path in paths]


def storable(content: Any) -> Any:
    """The content in a form that JSON holds and gives back equal; files stay files.

    What JSON has no form for becomes text; so does a content as a whole that nests deeper than JSON readers follow.
    """
    try:
        return _plain(content, 0)
    except RecursionError:
        return _as_text(content)


def _plain(content: Any, depth: int) -> Any:
    if depth > DEEPEST_RESULT:
        raise RecursionError
    if content is None or isinstance(content, bool | int | float):
        return _number(content)
    if isinstance(content, str):
        return encodable(content)
    if isinstance(content, bytes | bytearray):
        return BinaryContent(bytes(content), media_type="application/octet-stream")
    if is_multi_modal_content(content):
        return BinaryContent.narrow_type(content) if isinstance(content, BinaryContent) else content
    if isinstance(content, Mapping):
        return _mapping(cast(Mapping[Any, Any], content), depth)
    if isinstance(content, Sequence):
        return [_plain(item, depth + 1) for item in cast(Sequence[Any], content)]
    try:
        plain = to_jsonable_python(content, fallback=_as_text, bytes_mode="base64")
    except (ValueError, TypeError):
        return _as_text(content)
    return _plain(plain, depth + 1) if plain is not content else _as_text(content)


def _number(number: float | None) -> Any:
    """A number as it is, or as text where JSON has none such or its readers refuse it for its length."""
    if isinstance(number, float) and not math.isfinite(number):
        return repr(float(number))
    if isinstance(number, int) and number.bit_length() > LONGEST_INTEGER:
        return hex(number)
    return number


def _mapping(items: Mapping[Any, Any], depth: int) -> Any:
    plain = {encodable(str(key)): _plain(value, depth + 1) for key, value in items.items()}
    if len(plain) < len(items):  # two keys read alike
        return [[_plain(key, depth + 2), _plain(value, depth + 2)] for key, value in items.items()]
    if "kind" in plain and is_multi_modal_content(tool_return_content_ta.validate_python(plain)):
        return to_json(plain).decode()  # data that would come back as a file, and be fetched
    return plain


def _as_text(content: Any) -> str:
    try:
        return encodable(repr(content))
    except Exception:  # a foreign class may raise anything here
        return object.__repr__(content)


def shown_result(slot: Slot) -> tuple[str, int]:
    """The result as text, cut for display with the cut said, and the length of the whole in characters."""
    if slot.result is None:
        return "", 0
    text = slot.result.model_response_str(wrap_if_error=False)
    if files := slot.result.files:
        text = f"{text}\n[{len(files)} file(s) for the model]".lstrip()
    size = len(text)
    if size > LONGEST_SHOWN_RESULT:
        text = f"{text[:LONGEST_SHOWN_RESULT]}\n[{size - LONGEST_SHOWN_RESULT} more characters not shown]"
    return text, size
