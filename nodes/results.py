"""From whatever a tool gives back to a filled slot: stored, shown, and safe to serialise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic_ai.messages import BinaryContent, ToolReturn, ToolReturnPart, is_multi_modal_content
from pydantic_core import to_jsonable_python

from .deps import TurnDeps
from .events import ToolFinished
from .reply import encodable
from .slots import CallStatus, Slot
from .state import TurnState

LONGEST_SHOWN_RESULT = 50_000


async def settle(
    state: TurnState, deps: TurnDeps, slot: Slot, status: CallStatus, result: ToolReturnPart | Any
) -> None:
    """Fill a slot, once and for all, write the result to the store, and show it."""
    if isinstance(result, ToolReturnPart):
        slot.fill_with(status, cast(ToolReturnPart, result))
    else:
        slot.fill(status, result)
    slot.row = deps.log.result(state.iteration, slot)
    state.edited_files += [path for path in slot.edited if path not in state.edited_files]
    shown, size = shown_result(slot)
    await deps.sink.emit(
        ToolFinished(
            call_id=slot.call.tool_call_id,
            name=slot.call.tool_name,
            status=status,
            args=slot.call.args_as_dict(),
            result=shown,
            size=size,
            duration_ms=slot.duration_ms,
            edited=tuple(slot.edited),
        )
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
    edited: Any = cast(dict[str, Any], metadata).get("edited", []) if isinstance(metadata, dict) else []
    return storable(content), [str(path) for path in edited]


def storable(content: Any) -> Any:
    """The content in a form that JSON holds and gives back equal; files stay files."""
    if content is None or isinstance(content, bool | int | float):
        return content
    if isinstance(content, str):
        return encodable(content)
    if isinstance(content, bytes | bytearray):
        return BinaryContent(bytes(content), media_type="application/octet-stream")
    if is_multi_modal_content(content):
        return content
    if isinstance(content, Mapping):
        items = cast(Mapping[Any, Any], content)
        return {encodable(str(key)): storable(value) for key, value in items.items()}
    if isinstance(content, Sequence):
        return [storable(item) for item in cast(Sequence[Any], content)]
    plain = to_jsonable_python(content, fallback=repr, bytes_mode="base64")
    return storable(plain) if plain is not content else repr(content)


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
