"""Counts in words, for what a model or a person reads."""

from __future__ import annotations


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 file`, `1,234 files`, `2 entries` (with `plural` given)."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
