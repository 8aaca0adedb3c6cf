"""Numbers on the command line; each parser raises `typer.BadParameter` with what it would take."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import typer


def whole_number(text: str) -> int:
    """A count, at least one."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise typer.BadParameter(f"{text!r} is no whole number above zero")
    return int(text)


def dollars(text: str) -> Decimal:
    """An amount above zero, with or without its dollar sign."""
    amount = _decimal(text.removeprefix("$"))
    if amount is None:
        raise typer.BadParameter(f"{text!r} is no amount of US dollars above zero, such as 0.50")
    return amount


def seconds(text: str) -> float:
    """A time above zero."""
    amount = _decimal(text)
    if amount is None:
        raise typer.BadParameter(f"{text!r} is no number of seconds above zero")
    return float(amount)


def _decimal(text: str) -> Decimal | None:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 < amount < Decimal(10) ** 12 else None
