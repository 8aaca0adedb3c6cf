"""Secrets are known by the names of their variables, and hidden wherever their values stand."""

from __future__ import annotations

import pytest
from turngraph.tools.secret import Secrets, names_a_secret


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "gh_token", "DB_PASSWORD", "MYSQL_PASSWD", "AWS_CREDENTIALS"])
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert names_a_secret(name)
    assert Secrets({name: "12345678"}).redact("a 12345678 b") == f"a [redacted {name}] b"


def test_what_is_short_or_named_otherwise_is_shown() -> None:
    assert not names_a_secret("HOME")
    assert Secrets({"HOME": "/home/someone", "API_KEY": "short"}).redact("short /home/someone") == "short /home/someone"


def test_the_longer_of_two_secrets_wins() -> None:
    assert Secrets({"A_KEY": "12345678", "B_KEY": "12345678-9"}).redact("12345678-9") == "[redacted B_KEY]"
