from __future__ import annotations

import io
import logging
from collections.abc import Generator

import pytest
from turngraph.flows.cli.logs import RedactingFormatter, log_to

ENVIRON = {
    "OPENAI_API_KEY": "sk-1234567890",
    "GITHUB_TOKEN": "sk-1234567890-and-more",
    "DB_PASSWORD": "short",
    "HOME": "/home/someone",
    "my_secret": "quite (secret) [x]",
}


def formatted(message: str, *args: object, exc_info: object = None) -> str:
    record = logging.LogRecord("turngraph", logging.DEBUG, "f", 1, message, args, exc_info)  # pyright: ignore[reportArgumentType]
    return RedactingFormatter(ENVIRON).format(record)


def test_secrets_are_named_and_not_shown() -> None:
    text = formatted("key=%s other=%s", "sk-1234567890", "x")
    assert text.endswith("key=[redacted OPENAI_API_KEY] other=x")


def test_the_longer_of_two_secrets_wins() -> None:
    assert formatted("sk-1234567890-and-more!").endswith(": [redacted GITHUB_TOKEN]!")


def test_short_values_and_other_variables_stay() -> None:
    assert formatted("short /home/someone").endswith("short /home/someone")


def test_names_count_in_any_case_and_values_as_they_are() -> None:
    assert formatted("quite (secret) [x]").endswith(": [redacted my_secret]")


def test_tracebacks_are_redacted_too() -> None:
    try:
        raise ValueError("bad key sk-1234567890")
    except ValueError as error:
        text = formatted("failed", exc_info=(type(error), error, error.__traceback__))
    assert "ValueError: bad key [redacted OPENAI_API_KEY]" in text
    assert "sk-1234567890" not in text


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in formatted("\x1b[2J")


@pytest.fixture
def restored_logger() -> Generator[logging.Logger]:
    logger = logging.getLogger("turngraph")
    before = (logger.level, list(logger.handlers), logger.propagate)
    yield logger
    logger.level, logger.handlers, logger.propagate = before


def test_the_whole_tree_of_loggers_is_heard(restored_logger: logging.Logger) -> None:
    stream = io.StringIO()
    log_to(stream, ENVIRON)
    logging.getLogger("turngraph.some.part").debug("sk-1234567890")
    assert "DEBUG turngraph.some.part: [redacted OPENAI_API_KEY]" in stream.getvalue()
