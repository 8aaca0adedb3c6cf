"""What providers say when a request is larger than the context window, and what they say about other limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.exceptions import (
    FallbackExceptionGroup,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelHTTPError,
)
from turngraph.nodes.overflow import is_overflow, says_overflow

OVERFLOWS = [
    "input length 940001 exceeds maximum",
    "prompt is too long: 208310 tokens > 200000 maximum",
    "maximum context length is 8192 tokens, your messages resulted in 9001 tokens",
    "the request exceeds the available context size, try increasing it",
    "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Input is too long for requested model.",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "too many tokens: total tokens in the prompt exceeds the limit",
    "maximum context length is 65536 tokens, requested 71002 tokens (62810 in the messages, 8192 in the completion)",
    "Range of input length should be [1, 129024]",
    "prompt token count of 140000 exceeds the limit of 128000",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Your request exceeded model token limit: 262144 (requested: 291351)",
    "invalid params, context window exceeds limit",
    "Request size exceeds model context length",
    "The number of tokens to keep from the initial prompt is greater than the context length",
    "Trying to keep the first 9000 tokens when context the overflows.",
    "prompt too long; exceeded max context length by 20 tokens",
    "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens",
    "`inputs` must have less than 1024 tokens. Given: 1200",
    "Please reduce the length of the messages or completion.",
    "The input tokens exceeded the configured limit of 272000 tokens. Your messages resulted in 300000 tokens",
    "token count exceeds the maximum context length of 131072 tokens: 130000 tokens from the input messages",
    "the prompt is longer than the context window",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "tokens in prompt (5000) exceed maximum",
]
OTHER_LIMITS = [
    "Request too large on tokens per min (TPM): Limit 30000, Requested 40000. The input tokens must be reduced",
    "Request too large on tokens per minute: Limit 6000, Requested 7000, please reduce your message size",
    "Too many tokens, please wait before trying again.",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
    "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet",
    "max_tokens=99999 cannot be greater than max_model_len=8192",
    "maximum context length is 4096 tokens, requested 5020 tokens (20 in the messages, 5000 in the completion)",
    "'max_tokens' is too large: 5000, maximum context length is 4096 tokens and your request has 20 input tokens",
    "messages.3: `tool_use` ids were found without `tool_result` blocks",
    "Invalid 'messages[2].content': string too short",
    "tool_call_id must be at most 40 characters",
    "Invalid value for temperature: must be less than 2",
    "Internal server error",
    "The model is overloaded",
    "messages: at least one message is required",
    "Invalid 'tools': array too long, maximum length 128, got 150",
    "messages: text content blocks must be non-empty",
    "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
    "Unknown parameter: max_tokens",
    "Request timed out: prompt took longer than 60 seconds",
    "Invalid 'messages[0].tool_calls[0].id': string too long, maximum length 40, got 51",
    "max_output_tokens must be less than 65536",
    "The maximum number of messages is 100",
    "thinking.budget_tokens must be less than max_tokens",
]
STATUSES = st.sampled_from([None, 400, 413, 422, 500])
AROUND = st.sampled_from(["", "Error: ", "invalid_request_error - ", "Bad request.\n"])


@pytest.mark.parametrize("words", OVERFLOWS)
@given(status=STATUSES, before=AROUND, shout=st.booleans())
def test_an_overflow_is_known_whoever_says_it(words: str, status: int | None, before: str, shout: bool) -> None:
    said = before + (words.upper() if shout else words)
    assert says_overflow(said, status)
    assert not says_overflow(said, 429)
    assert not says_overflow(f"{said} Rate limit reached.", status)


@pytest.mark.parametrize("words", OTHER_LIMITS)
@given(status=st.sampled_from([None, 400, 422, 429, 500]), before=AROUND)
def test_another_limit_is_no_overflow(words: str, status: int | None, before: str) -> None:
    assert not says_overflow(before + words, status)


def test_a_body_too_large_is_an_overflow_unless_it_counts_by_the_minute() -> None:
    assert says_overflow("<html>413</html>", 413)
    assert not says_overflow("Request too large: tokens per minute (TPM): Limit 6000, Requested 7000", 413)


@given(window=st.integers(1_000, 10**6), share=st.integers(0, 100))
def test_where_the_input_is_counted_it_decides(window: int, share: int) -> None:
    """A cap on the answer that is larger than the window is no matter of the history."""
    read = window * share // 100
    said = (
        f"This model's maximum context length is {window} tokens. requested {window + 1} tokens "
        f"({read} in the messages, {window + 1 - read} in the completion)."
    )
    assert says_overflow(said, 400) == (2 * read > window)


@given(st.text(alphabet="abcdefgh .:,0123456789", max_size=80))
def test_words_without_a_limit_are_none(words: str) -> None:
    assert not says_overflow(words, 400)


def test_it_is_read_from_whatever_a_client_raises() -> None:
    coded = ModelHTTPError(400, "m", {"error": {"message": "no"}}, provider_error_code="context_length_exceeded")
    assert is_overflow(coded)
    assert is_overflow(ModelHTTPError(400, "m", {"message": "input length 940001 exceeds maximum"}))
    assert is_overflow(ModelAPIError("m", "prompt is too long: 9 tokens > 8 maximum"))
    assert is_overflow(ModelContextWindowExceededError("m", "no"))
    assert is_overflow(RuntimeError("the request exceeds the available context size"))
    assert is_overflow(FallbackExceptionGroup("all failed", [ValueError("x"), coded]))
    assert not is_overflow(ModelHTTPError(400, "long-context-exceeded-8k", {"message": "no such parameter"}))
    assert not is_overflow(ConnectionError())


def test_what_a_server_repeats_of_the_request_does_not_count() -> None:
    body = {"message": "bad field", "input": {"messages": ["the prompt is too long for the context window"]}}
    assert not is_overflow(ModelHTTPError(400, "m", body))
