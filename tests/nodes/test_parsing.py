from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turngraph.nodes.parsing import may_hold_calls, parse_calls

OFFERED = {"grep", "read_file", "list_dir", "f"}
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ARGS = st.dictionaries(st.text(min_size=1), JSON, max_size=4)
FORMS: dict[str, Callable[[str, str], str]] = {
    "tool_call": lambda name, args: f'<tool_call>{{"name": "{name}", "arguments": {args}}}</tool_call>',
    "function": lambda name, args: f"<function={name}>{args}</function>",
    "fence": lambda name, args: f'```json\n{{"tool": "{name}", "args": {args}}}\n```',
    "raw": lambda name, args: f'{{"function": "{name}", "parameters": {args}}}',
}


def found(text: str) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.args) for call in parse_calls(text, OFFERED)[0]]


@pytest.mark.parametrize("form", FORMS)
@given(args=ARGS, ascii_only=st.booleans(), indent=st.sampled_from([None, 2]))
def test_a_written_call_is_read_back(form: str, args: dict[str, Any], ascii_only: bool, indent: int | None) -> None:
    text = FORMS[form]("grep", json.dumps(args, ensure_ascii=ascii_only, indent=indent))
    calls, rest = parse_calls(text, OFFERED)
    assert [(call.name, call.args) for call in calls] == [("grep", args)]
    assert rest == ""
    assert may_hold_calls(text, OFFERED)


@pytest.mark.parametrize("form", FORMS)
def test_prose_around_a_call_is_kept(form: str) -> None:
    calls, rest = parse_calls(f"Before.\n\n{FORMS[form]('grep', '{}')}\n\nAfter.", OFFERED)
    assert len(calls) == 1
    assert rest.split() == ["Before.", "After."]


PIECES = st.sampled_from(
    [
        *[form("grep", '{"p": "}"}') for form in FORMS.values()],
        *["<tool_call>", "</tool_call>", "<function=f>", "</function>", "<parameter=p>", "</parameter>", "```json\n"],
        *["```", "{", "}", "[", "]", '"name"', '"grep"', '"arguments"', ":", ",", "\n", " ", "\\", "grep", "\ud800"],
    ]
)


@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))
def test_any_text_is_read_without_an_error_and_loses_nothing(text: str) -> None:
    calls, rest = parse_calls(text, OFFERED)
    if not calls:
        assert rest == text
    else:
        assert may_hold_calls(text, OFFERED)
    covered = 0
    for call in calls:
        assert call.name in OFFERED
        assert 0 <= call.start < call.end <= len(text)
        covered += call.end - call.start
    assert len("".join(rest.split())) >= len("".join(text.split())) - covered


@given(st.text(), st.sets(st.text(min_size=1)))
def test_text_without_a_call_is_unchanged(text: str, offered: set[str]) -> None:
    calls, rest = parse_calls(text, offered)
    assert calls or rest == text


@pytest.mark.parametrize("deep", ["[" * 5000, '{"a":' * 5000, '<tool_call>{"name":' + "[" * 5000])
def test_nesting_without_end_is_text(deep: str) -> None:
    assert parse_calls(deep, OFFERED) == ([], deep)


def test_a_number_too_long_for_python_is_text() -> None:
    text = '{"name": "grep", "arguments": {"n": ' + "9" * 5000 + "}}"
    assert parse_calls(text, OFFERED) == ([], text)


def test_the_first_format_that_yields_wins() -> None:
    texts = [
        form(name, "{}") for form, name in zip(FORMS.values(), ["grep", "f", "read_file", "list_dir"], strict=True)
    ]
    for first in range(4):
        assert found("\n".join(reversed(texts[first:]))) == [(["grep", "f", "read_file", "list_dir"][first], {})]


def test_several_calls_of_one_format_come_in_order() -> None:
    text = FORMS["tool_call"]("grep", '{"p": 1}') + "\n" + FORMS["tool_call"]("f", '{"p": 2}')
    assert found(text) == [("grep", {"p": 1}), ("f", {"p": 2})]


def test_a_list_of_calls_shares_a_place() -> None:
    text = 'Now [x]:\n[{"name": "grep", "arguments": {}}, {"name": "f", "arguments": {"tags": ["a", "b"]}}]'
    calls, rest = parse_calls(text, OFFERED)
    assert [(call.name, call.args) for call in calls] == [("grep", {}), ("f", {"tags": ["a", "b"]})]
    assert rest == "Now [x]:"


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name":"my-app","version":"1.0.0"}\n```',
        '```json\n{"name":"grep","version":"1.0.0"}\n```',
        'use <invoke name="bash"> to run things',
        "use <function=grep> to search",
        "<tool_call>grep</tool_call>",
        '<tool_call>{"name": "Grep", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "grep", "arguments": "{}"}</tool_call>',
        '<tool_call>{"name": "grep", "arguments": []}</tool_call>',
        '<tool_call>{"name": 7, "arguments": {}}</tool_call>',
        '<tool_call>{"name": "grep", "arguments": {}}',
        '<tool_call>{"name": "grep", "arguments": {"p": "x',
        "I will create it.\n\n<function=grep>\n<parameter=path> t.txt\n<parameter=contents> hello",
        'inline {"name": "grep", "arguments": {}} in a sentence',
    ],
)
def test_what_is_no_whole_call_of_an_offered_tool_stays_text(text: str) -> None:
    assert parse_calls(text, OFFERED) == ([], text)


def test_without_tools_everything_is_text() -> None:
    text = FORMS["tool_call"]("grep", "{}")
    assert parse_calls(text, ()) == ([], text)
    assert not may_hold_calls(text, ())


def test_nested_arguments_arrive_whole() -> None:
    assert found('{"name":"f","parameters":{"rec":{"a":{"b":"1"}}}}') == [("f", {"rec": {"a": {"b": "1"}}})]


def test_prose_after_raw_json_is_kept() -> None:
    text = '{"type":"function","name":"list_dir","parameters":{}} \n\nWant more detail?'
    calls, rest = parse_calls(text, OFFERED)
    assert [(call.name, call.args) for call in calls] == [("list_dir", {})]
    assert rest == "Want more detail?"


def test_the_openai_shape_is_read() -> None:
    text = '{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}'
    assert found(text) == [("f", {"a": 1})]


def test_parameter_tags_are_read_as_text() -> None:
    parameters = "<parameter=a>\n1\n2\n</parameter>\n<parameter=b>x</parameter>"
    text = f"<tool_call>\n<function=f>\n{parameters}\n</function>\n</tool_call>"
    assert parse_calls(text, OFFERED)[1] == ""
    assert found(text) == [("f", {"a": "1\n2", "b": "x"})]


@given(ARGS)
def test_a_call_inside_an_argument_is_no_call(args: dict[str, Any]) -> None:
    inner = json.dumps({"name": "f", "arguments": args}, indent=1)
    outer = json.dumps({"name": "grep", "arguments": {"text": inner, "again": [json.loads(inner)]}}, indent=1)
    assert [name for name, _ in found(outer)] == ["grep"]
    assert [name for name, _ in found(f"<tool_call>{outer}</tool_call>")] == ["grep"]


def test_a_closed_call_needs_no_arguments() -> None:
    assert found("<function=list_dir></function>") == [("list_dir", {})]
    assert found("<tool_call>\n<function=list_dir>\n</function>\n</tool_call>") == [("list_dir", {})]
    assert found("<function=list_dir>") == []


def test_a_name_in_escapes_may_be_a_call() -> None:
    text = '{"name": "gre\\u0070", "arguments": {}}'
    assert found(text) == [("grep", {})]
    assert may_hold_calls(text, OFFERED)


@pytest.mark.parametrize(
    "text",
    [
        '[TOOL_CALLS]grep[ARGS]{"p": ["a", "]"]}',
        '[TOOL_CALLS] [{"name": "grep", "arguments": {"p": ["a", "]"]}}]',
        'functools[{"name": "grep", "arguments": {"p": ["a", "]"]}}]',
        '<|python_tag|>{"name": "grep", "parameters": {"p": ["a", "]"]}}',
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>grep\n```json\n"
        '{"p": ["a", "]"]}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    ],
)
def test_calls_in_the_tokens_of_model_families(text: str) -> None:
    """T3-05, T3-07, T3-08."""
    calls, rest = parse_calls(text, OFFERED)
    assert [(call.name, call.args) for call in calls] == [("grep", {"p": ["a", "]"]})]
    assert rest == ""
    assert may_hold_calls(text, OFFERED)
    assert found(text[:-12]) in ([], [("grep", {"p": ["a", "]"]})])
    assert parse_calls(text, {"other"}) == ([], text)
