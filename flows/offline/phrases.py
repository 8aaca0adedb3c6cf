"""Pieces of phrasings that several rules share, as regular expressions over a tidied request."""

from __future__ import annotations

from .request import WORD

PLACE = rf"(?:(?:the |my |this |our )?(?:[a-z]+ )?{WORD}(?: [a-z]+)?)"
IN = rf"(?:(?P<loosely>of|at|from)|in|inside|within|under|below|across|throughout)(?: all)? (?P<where>{PLACE})"
SCOPE = rf"(?: {IN}| (?:everywhere|anywhere|somewhere|here))?"
"""An optional end that says where: `in the src folder`, `anywhere`."""
