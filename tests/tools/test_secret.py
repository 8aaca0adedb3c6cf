"""Secrets are known by the names of their variables, and hidden wherever their values stand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import BinaryContent, ImageUrl
from turngraph.tools.secret import Secrets, environment_secrets, names_a_secret

KEY = "sk-TEST-123456"
SECRETS = Secrets({"A_KEY": KEY})


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "gh_token", "DB_PASSWORD", "MYSQL_PASSWD", "AWS_CREDENTIALS", "SSH_PASSPHRASE", "DB_PASS"],
)
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert names_a_secret(name)
    assert Secrets({name: "12345678"}).redact("a 12345678 b") == f"a [redacted {name}] b"


def test_what_is_short_or_named_otherwise_is_shown() -> None:
    assert not names_a_secret("HOME")
    assert Secrets({"HOME": "/home/someone", "API_KEY": "short"}).redact("short /home/someone") == "short /home/someone"


def test_the_longer_of_two_secrets_wins() -> None:
    assert Secrets({"A_KEY": "12345678", "B_KEY": "12345678-9"}).redact("12345678-9") == "[redacted B_KEY]"


def test_the_directory_one_works_in_is_no_secret() -> None:
    assert not names_a_secret("PWD")
    assert not names_a_secret("OLDPWD")


def test_a_path_that_exists_and_a_default_that_everybody_knows_are_shown(tmp_path: Path) -> None:
    secrets = Secrets({"KEY_FILE": str(tmp_path), "DB_PASSWORD": "password", "A_KEY": f"{tmp_path}/none/such"})
    assert secrets.redact(f"password {tmp_path}") == f"password {tmp_path}"
    assert secrets.redact(f"{tmp_path}/none/such") == "[redacted A_KEY]"


@pytest.mark.parametrize("value", ['pass "word" 1', "back\\slash-1", "zwölf Boxkämpfer", "a&b=c d/e?f", "tab\there!"])
def test_a_secret_is_known_in_json_and_in_urls(value: str) -> None:
    secrets = Secrets({"DB_PASSWORD": value})
    for spelled in (value, json.dumps({"p": value}), json.dumps(value, ensure_ascii=False), quote(value, safe="")):
        assert "[redacted DB_PASSWORD]" in secrets.redact(f"x{spelled}y")


def test_each_long_line_of_a_private_key_is_a_secret() -> None:
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA"
    secrets = Secrets({"PRIVATE_KEY": f"-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----"})
    assert secrets.redact(f"    12: {line}\n") == "    12: [redacted PRIVATE_KEY]\n"
    assert secrets.redact("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"


def test_the_password_in_a_url_is_a_secret() -> None:
    secrets = Secrets(
        {"DATABASE_URL": "postgres://me:hunter%402hunter@db.example:5432/x", "HOME_URL": "http://a.b/c@d"}
    )
    assert secrets.redact("hunter%402hunter hunter@2hunter") == "[redacted DATABASE_URL] [redacted DATABASE_URL]"
    assert secrets.redact("db.example http://a.b/c@d") == "db.example http://a.b/c@d"


def data(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    texts = st.text(max_size=8)
    mixed = leaf | texts | st.integers() | st.none() | st.booleans()
    return st.recursive(mixed, lambda inner: st.lists(inner) | st.dictionaries(leaf | texts, inner), max_leaves=8)


@given(data(st.builds("{}{}{}".format, st.text(max_size=3), st.just(KEY), st.text(max_size=3))))
def test_no_secret_is_left_in_data(found: Any) -> None:
    redacted = SECRETS.redact_data(found)
    assert KEY not in json.dumps(redacted)
    assert SECRETS.redact_data(redacted) == redacted


@given(data(st.just("plain")))
def test_data_without_secrets_is_the_same_object(found: Any) -> None:
    assert SECRETS.redact_data(found) is found
    assert Secrets({}).redact_data(found) is found


def test_keys_that_become_alike_lose_nothing() -> None:
    secrets = Secrets({"A_KEY": KEY})
    assert secrets.redact_data({KEY: 1, "[redacted A_KEY]": 2}) == [["[redacted A_KEY]", 1], ["[redacted A_KEY]", 2]]


def test_a_number_can_be_a_secret() -> None:
    assert Secrets({"PIN_TOKEN": "1234567890"}).redact_data([1234567890, 1.5]) == ["[redacted PIN_TOKEN]", 1.5]


def test_files_and_their_addresses_are_looked_into() -> None:
    file = BinaryContent(f"\xff key={KEY}".encode("latin-1"), media_type="application/octet-stream")
    link = ImageUrl(f"https://example.com/a.png?key={KEY}")
    new_file, new_link = SECRETS.redact_data([file, link])
    assert new_file.data == b"\xff key=[redacted A_KEY]"
    assert new_link.url == "https://example.com/a.png?key=[redacted A_KEY]"
    assert KEY in link.url


def test_the_secrets_of_the_process_follow_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATE_TOKEN", KEY)
    assert environment_secrets().redact(KEY) == "[redacted LATE_TOKEN]"
    assert environment_secrets() is environment_secrets()
    monkeypatch.delenv("LATE_TOKEN")
    assert environment_secrets().redact(KEY) == KEY
    assert KEY not in os.environ.values()
