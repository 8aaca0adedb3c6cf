"""The published order rules of the OpenAI chat API, checked on the messages of a request.

Written against the API's description and not against any code of ours, so that it can judge what we send.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


def violation(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The first rule that the messages break, as one sentence; `None` when they obey."""
    if not messages:
        return "there are no messages"
    waiting: set[str] = set()
    for position, message in enumerate(messages):
        role = message.get("role")
        where = f"messages[{position}] ({role})"
        if role not in ROLES:
            return f"{where}: unknown role"
        if role == "tool":
            answered = message.get("tool_call_id")
            if answered not in waiting:
                return f"{where}: answers {answered!r}, but the calls without an answer are {sorted(waiting)}"
            if message.get("content") is None:
                return f"{where}: the result of {answered!r} has no content"
            waiting.discard(cast(str, answered))
            continue
        if waiting:
            return f"{where}: the calls {sorted(waiting)} must be answered first"
        if role == "assistant":
            broken, waiting = _assistant(message)
            if broken:
                return f"{where}: {broken}"
        elif message.get("content") is None:
            return f"{where}: no content"
    return f"the calls {sorted(waiting)} are never answered" if waiting else None


def _assistant(message: Mapping[str, Any]) -> tuple[str | None, set[str]]:
    calls = cast(Sequence[Mapping[str, Any]], message.get("tool_calls") or ())
    if not message.get("content") and not calls:
        return "neither content nor calls", set()
    ids: set[str] = set()
    for call in calls:
        given = call.get("id")
        if not isinstance(given, str) or not given:
            return f"a call has the id {given!r}", ids
        if given in ids:
            return f"two calls have the id {given!r}", ids
        ids.add(given)
        function = cast(Mapping[str, Any], call.get("function") or {})
        if call.get("type") != "function" or not function.get("name"):
            return f"call {given!r} names no function", ids
        if not _is_json_object(function.get("arguments")):
            return f"the arguments of call {given!r} are no JSON object in a string", ids
    return None, ids


def _is_json_object(arguments: object) -> bool:
    if not isinstance(arguments, str):
        return False
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False
