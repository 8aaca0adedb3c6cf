"""What looks like a secret: variables by their names, and their values wherever they turn up.

The rule: a secret of the environment is for the clients of servers alone, and is replaced by `[redacted NAME]` where it
would come into a turn from outside: in what a tool gives back or fails with, and in what a server or a library says of
an error. So the model, the screen and the store have the same text, and never the secret. What is written beside the
store, such as the debug log, the model cache and exports, is redacted as a whole, whoever said it.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, cast
from urllib.parse import quote, unquote

_NAME = re.compile(
    "KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|_(?:PASS|PWD|PAT|AUTH)$",
    re.IGNORECASE,
)
_PASSWORD_IN_URL = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
_SHORTEST = 8
_KNOWN_TO_ALL = {"password", "postgres", "changeme", "change-me", "change_me", "minioadmin", "rabbitmq"}
"""They protect nothing, and files full of them could not be read or edited any more."""
_SHORTEST_LINE = 32
"""Of a secret of many lines, such as a private key: shorter ones, and those with spaces, say what it is."""


def names_a_secret(variable: str) -> bool:
    """Whether the value of a variable of this name is likely to be a secret."""
    return _NAME.search(variable) is not None


class Secrets:
    """The values, of 8 characters or more, that variables of an environment hold under the name of a secret.

    The password in a URL is one under any name; none are the path of something that exists, and defaults that
    everybody knows. A value is also known as JSON and URLs spell it, and by each long line of it.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._names: dict[str, str] = {}
        for name, value in environ.items():
            for secret in _secrets_of(name, value):
                for form in _forms(secret):
                    if len(form) >= _SHORTEST and form not in _KNOWN_TO_ALL:
                        self._names.setdefault(form, name)
        self._longest_first = sorted(self._names, key=len, reverse=True)
        self._any = re.compile("|".join(map(re.escape, self._longest_first)))

    def redact(self, text: str) -> str:
        """The text with `[redacted NAME]` in place of every secret."""
        if not any(form in text for form in self._longest_first):  # the rule, and faster than the expression
            return text
        return self._any.sub(lambda found: f"[redacted {self._names[found[0]]}]", text)

    def redact_data(self, data: Any) -> Any:
        """Data without the secrets in its texts, keys, numbers, bytes and dataclasses; the same object if it has none.

        Keys that would become alike make a list of pairs of a dictionary.
        """
        if not self._names:
            return data
        if isinstance(data, str):
            return self.redact(data)
        if isinstance(data, bytes):
            return self._redact_bytes(data)
        if isinstance(data, int | float):
            redacted = self.redact(text := str(data))
            return data if redacted == text else redacted
        if isinstance(data, list):
            items = cast(list[Any], data)
            redacted = [self.redact_data(item) for item in items]
            return items if _same(redacted, items) else redacted
        if isinstance(data, dict):
            return self._redact_mapping(cast(dict[Any, Any], data))
        if dataclasses.is_dataclass(data) and not isinstance(data, type):
            return self._redact_fields(data)
        return data

    def _redact_bytes(self, data: bytes) -> bytes:
        for form in self._longest_first:
            data = data.replace(form.encode("utf-8", "replace"), f"[redacted {self._names[form]}]".encode())
        return data

    def _redact_mapping(self, data: dict[Any, Any]) -> Any:
        keys, values = list(data), list(data.values())
        new_keys, new_values = self.redact_data(keys), self.redact_data(values)
        if new_keys is keys and new_values is values:
            return data
        pairs = list(zip(new_keys, new_values, strict=True))
        redacted = dict(pairs)
        return redacted if len(redacted) == len(data) else [list(pair) for pair in pairs]

    def _redact_fields(self, data: Any) -> Any:
        names = [field.name for field in dataclasses.fields(data)]
        values = [getattr(data, name) for name in names]
        new_values = self.redact_data(values)
        if new_values is values:
            return data
        redacted = copy.copy(data)
        for name, value in zip(names, new_values, strict=True):
            object.__setattr__(redacted, name, value)
        return redacted


def environment_secrets() -> Secrets:
    """The secrets of this process's environment as it is now, made anew only when that changed."""
    return _made_once(tuple(os.environ.items()))


@lru_cache(maxsize=1)
def _made_once(variables: tuple[tuple[str, str], ...]) -> Secrets:
    return Secrets(dict(variables))


def _secrets_of(name: str, value: str) -> Iterator[str]:
    if names_a_secret(name) and not (value.startswith("/") and os.access(value, os.F_OK)):
        yield value
        if len(lines := value.splitlines()) > 1:
            yield from (line for line in lines if len(line) >= _SHORTEST_LINE and " " not in line)
    for password in _PASSWORD_IN_URL.findall(value):
        yield password
        yield unquote(password)


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(secret, safe="", errors="replace")


def _same(some: list[Any], others: list[Any]) -> bool:
    return all(one is other for one, other in zip(some, others, strict=True))
