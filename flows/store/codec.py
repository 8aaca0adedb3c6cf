"""Bodies of rows to JSON and back, for every text a model or a tool can produce.

UTF-8, and so SQLite and JSON, cannot hold the lone surrogates that Python strings can (a file name that is no
UTF-8 has them). They are stored as a mark and four hex digits, and become surrogates again on the way out.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, from_json

from ...nodes.errors import StoreError

T = TypeVar("T")


_MARK = "\ufffe"  # a code point that is reserved to mean no character
_REPLACED = "\ufffd"  # what pydantic writes, without a word, for each surrogate in a key
_MARK_BYTES = _MARK.encode()
# What reads JSON has limits that what writes it has not, of digits and of depth: below these nothing meets them.
_SURELY_READ = 4_000
_SURELY_READ_DEPTH = 100
_TO_ESCAPE = re.compile(f"[\ud800-\udfff{_MARK}]")
_ESCAPED = re.compile(f"{_MARK}([0-9a-f]{{4}})")


class Unstorable(StoreError):
    """A value that has no form in JSON."""


def encode(adapter: TypeAdapter[T], value: T) -> str:
    """A value as JSON text that SQLite can hold; what JSON has no form for is written as its `str()`.

    Raises:
        Unstorable: the value refers to itself, nests too deep, or could not be read back for another reason.
    """
    try:
        text = _dump(adapter, value)
        if len(text) > _SURELY_READ or text.count("[") + text.count("{") > _SURELY_READ_DEPTH:
            from_json(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise Unstorable(f"a {type(value).__name__} cannot be stored: {error}") from error
    return text


def decode(adapter: TypeAdapter[T], body: bytes) -> T:
    """The value of a stored body.

    Raises:
        ValueError: the body is no JSON, or not of this type (pydantic's `ValidationError`).
    """
    value = adapter.validate_json(body)
    return cast(T, _map_text(value, _restore)) if _MARK_BYTES in body else value


def _dump(adapter: TypeAdapter[T], value: T) -> str:
    try:
        text = adapter.dump_json(value, fallback=as_text, warnings=False).decode()
        if _MARK not in text and _REPLACED not in text:
            return text
    except PydanticSerializationError:
        pass  # a lone surrogate, or what the way below cannot write either
    return adapter.dump_json(_map_text(value, escape), fallback=as_text, warnings=False).decode()


def as_text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # a foreign class may raise anything here
        return object.__repr__(value)


def escape(text: str) -> str:
    return _TO_ESCAPE.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def _restore(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _map_text(value: Any, change: Callable[[str], str]) -> Any:
    """A tree of plain values and dataclasses with every string in it changed."""
    if isinstance(value, str):
        return change(value) if type(value) is str else value
    if isinstance(value, dict):
        items = cast(dict[Any, Any], value).items()
        return {_map_text(key, change): _map_text(item, change) for key, item in items}
    if isinstance(value, list):
        return [_map_text(item, change) for item in cast(list[Any], value)]
    if isinstance(value, tuple):
        return tuple(_map_text(item, change) for item in cast(tuple[Any, ...], value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = copy.copy(value)
        for field in dataclasses.fields(value):
            object.__setattr__(changed, field.name, _map_text(getattr(value, field.name), change))
        return changed
    return value
