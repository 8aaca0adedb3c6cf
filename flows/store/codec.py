"""What rows hold, as JSON and back, for every text a model or a tool can produce.

UTF-8, and so SQLite and JSON, cannot hold the lone surrogates that Python strings can (a file name that is no
UTF-8 has them). They are stored as a mark and four hex digits, and become surrogates again on the way out.
Messages are stored without the fields that have their default, which halves them.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, cast

from pydantic import ConfigDict, TypeAdapter
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_core import PydanticSerializationError, from_json, to_json

from ...nodes.errors import StoreError

_MARK = "\ufffe"  # a code point that is reserved to mean no character
_REPLACED = "\ufffd"  # what pydantic writes, without a word, for each surrogate in a key
_MARK_BYTES = _MARK.encode()
# What reads JSON has limits that what writes it has not, of digits and of depth: below these nothing meets them.
_SURELY_READ = 4_000
_SURELY_READ_DEPTH = 100
_TO_ESCAPE = re.compile(f"[\ud800-\udfff{_MARK}]")
_ESCAPED = re.compile(f"{_MARK}([0-9a-f]{{4}})")
_TELLS_THE_TYPE = ("kind", "part_kind")

# `| None`, because a config reaches only what is inside, and a bare dataclass takes none.
_CONFIG = ConfigDict(defer_build=True, ser_json_bytes="base64", val_json_bytes="base64")
_RESULT: TypeAdapter[Any] = TypeAdapter(ToolReturnPart | None, config=_CONFIG)
_CALL: TypeAdapter[Any] = TypeAdapter(ToolCallPart | None, config=_CONFIG)


class Unstorable(StoreError):
    """A value that has no form in JSON."""


def write_facts(facts: Mapping[str, Any]) -> str:
    """Plain values as JSON text that SQLite can hold; what JSON has no form for is written as its `str()`.

    Raises:
        Unstorable: the facts hold a value that refers to itself, nests too deep, or could not be read back for
            another reason.
    """
    return _written(_plain, facts)


def read_facts(facts: str) -> dict[str, Any]:
    """What `write_facts` wrote.

    Raises:
        ValueError: it is no JSON object.
    """
    value: object = from_json(facts)
    if not isinstance(value, dict):
        raise ValueError("the facts of a row are no JSON object")
    told = cast(dict[str, Any], value)
    return map_text(told, _restore) if _MARK in facts else told


def known_facts(facts: str) -> dict[str, Any]:
    """What `write_facts` wrote; nothing where it cannot be read."""
    try:
        return read_facts(facts)
    except ValueError:
        return {}


def all_facts(facts: Sequence[str]) -> list[dict[str, Any]]:
    """What `write_facts` wrote, of several rows; nothing of those that cannot be read."""
    together = f"[{','.join(facts)}]"
    if _MARK not in together:
        try:
            told: list[Any] = from_json(together)
        except ValueError:
            told = []
        if len(told) == len(facts) and {type(one) for one in told} <= {dict}:
            return told
    return [known_facts(one) for one in facts]


def write_message(message: ModelMessage) -> str:
    """A message as JSON text.

    Raises:
        Unstorable: as `write_facts`.
    """
    unsaid = _unsaid(message)
    parts = {number: fields for number, part in enumerate(message.parts) if (fields := _unsaid(part))}
    if parts:
        unsaid["parts"] = parts
    if isinstance(message, ModelResponse) and (fields := _unsaid(message.usage)):
        unsaid["usage"] = fields

    def dump(one: ModelMessage) -> bytes:
        return ModelMessagesTypeAdapter.dump_json([one], exclude={0: unsaid}, fallback=as_text, warnings=False)[1:-1]

    return _written(dump, message)


def read_messages(contents: Sequence[bytes]) -> list[ModelMessage]:
    """As many messages as there are texts.

    Raises:
        ValueError: one of them is no JSON, or no message (pydantic's `ValidationError`).
    """
    messages = read_array(b"[%b]" % b",".join(contents))
    if len(messages) != len(contents):
        raise ValueError(f"{len(contents)} rows hold {len(messages)} messages")
    return messages


def read_array(text: bytes) -> list[ModelMessage]:
    """The messages of a JSON array of what `write_message` wrote.

    Raises:
        ValueError: as `read_messages`.
    """
    messages = ModelMessagesTypeAdapter.validate_json(text)
    # One byte is found much faster than three, and few texts hold it.
    marked = _MARK_BYTES[:1] in text and _MARK_BYTES in text
    return [map_text(message, _restore) for message in messages] if marked else messages


def write_result(part: ToolReturnPart, *, without: Sequence[str] = ()) -> str:
    """A call's result as JSON text, without some of its fields.

    Raises:
        Unstorable: as `write_facts`.
    """
    unsaid = {*_unsaid(part), *without}
    return _written(lambda one: _RESULT.dump_json(one, exclude=unsaid, fallback=as_text, warnings=False), part)


def read_result(content: bytes) -> ToolReturnPart[Any]:
    """What `write_result` wrote.

    Raises:
        ValueError: it is no JSON, or no result.
    """
    part: Any = _RESULT.validate_json(content)
    if part is None:
        raise ValueError("the row holds no result")
    return map_text(part, _restore) if _MARK_BYTES in content else part


def plain_call(call: ToolCallPart) -> Any:
    """A call as plain values, to be a fact of a row.

    Raises:
        Unstorable: as `write_facts`.
    """
    fields = _unsaid(call)
    return from_json(
        _written(lambda one: _CALL.dump_json(one, exclude=set(fields), fallback=as_text, warnings=False), call)
    )


def call_of(plain: Any) -> ToolCallPart[Any]:
    """The call that plain values say.

    Raises:
        ValueError: they say no call.
    """
    call: Any = _CALL.validate_python(plain)
    if call is None:
        raise ValueError("the row holds no call")
    return call


def as_text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # a foreign class may raise anything here
        return object.__repr__(value)


def escape(text: str) -> str:
    return _TO_ESCAPE.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def _plain(facts: Any) -> bytes:
    return to_json(facts, fallback=as_text)


def _unsaid(value: Any) -> dict[str, Any]:
    """The fields of a message, a part or a usage that need no saying, since they have their default."""
    return {name: True for name, default in _defaults(value.__class__) if _same(getattr(value, name), default)}


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and value == default)


@cache
def _defaults(cls: type[Any]) -> tuple[tuple[str, Any], ...]:
    """The fields of a dataclass that always default to one value; what tells the type has to be said."""
    found: list[tuple[str, Any]] = []
    for field in dataclasses.fields(cls):
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            made = field.default_factory()
            default = made if made in ({}, []) else dataclasses.MISSING
        if default is not dataclasses.MISSING and field.name not in _TELLS_THE_TYPE:
            if field.name == "tool_kind" and default is not None:
                continue
            found.append((field.name, default))
    return tuple(found)


def _written(dump: Callable[[Any], bytes], value: Any) -> str:
    try:
        text = _dumped(dump, value)
        if len(text) > _SURELY_READ or text.count("[") + text.count("{") > _SURELY_READ_DEPTH:
            from_json(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise Unstorable(f"a {type(value).__name__} cannot be stored: {error}") from error
    return text


def _dumped(dump: Callable[[Any], bytes], value: Any) -> str:
    try:
        text = dump(value).decode()
        if _MARK not in text and _REPLACED not in text:
            return text
    except PydanticSerializationError:
        pass  # a lone surrogate, or what the way below cannot write either
    return dump(map_text(value, escape)).decode()


def _restore(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def map_text(value: Any, change: Callable[[str], str]) -> Any:
    """A tree of plain values and dataclasses with every string in it changed."""
    if isinstance(value, str):
        return change(value) if type(value) is str else value
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        return {map_text(key, change): map_text(item, change) for key, item in items}
    if isinstance(value, list):
        return [map_text(item, change) for item in cast(list[Any], value)]
    if isinstance(value, tuple):
        return tuple(map_text(item, change) for item in cast(tuple[Any, ...], value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = copy.copy(value)
        for field in dataclasses.fields(value):
            object.__setattr__(changed, field.name, map_text(getattr(value, field.name), change))
        return changed
    return value
