"""The validator itself: what it must accept and what it must refuse."""

from __future__ import annotations

from typing import Any

import pytest

from .rules import violation

USER = {"role": "user", "content": "hi"}


def assistant(*ids: str, text: str | None = None, arguments: Any = "{}") -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": arguments}} for i in ids]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def result(call_id: str, content: str | None = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [USER, assistant(text="hello"), USER],
        [USER, assistant("a"), result("a")],
        [USER, assistant("a", "b"), result("b"), result("a"), assistant(text="done")],
        [USER, assistant("a"), result("a", ""), assistant("a"), result("a")],
    ],
)
def test_obeying_messages_pass(messages: list[dict[str, Any]]) -> None:
    assert violation(messages) is None


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([], "no messages"),
        ([USER, assistant("a")], "never answered"),
        ([USER, assistant("a"), USER], "must be answered first"),
        ([USER, assistant("a", "b"), result("a"), USER, result("b")], "must be answered first"),
        ([USER, assistant("a"), result("a"), result("a")], "answers 'a'"),
        ([USER, result("a")], "answers 'a'"),
        ([USER, assistant("a", "a"), result("a")], "two calls have the id"),
        ([USER, assistant("")], "has the id ''"),
        ([USER, assistant()], "neither content nor calls"),
        ([USER, assistant(text="")], "neither content nor calls"),
        ([USER, assistant("a", arguments="{"), result("a")], "no JSON object"),
        ([USER, assistant("a", arguments="3"), result("a")], "no JSON object"),
        ([USER, assistant("a", arguments={}), result("a")], "no JSON object"),
        ([USER, assistant("a"), result("a", None)], "has no content"),
        ([{"role": "robot", "content": "x"}], "unknown role"),
    ],
)
def test_a_broken_rule_is_named(messages: list[dict[str, Any]], complaint: str) -> None:
    assert complaint in (violation(messages) or "")
