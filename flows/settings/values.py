"""The settings there are, and where a user's own file and store lie."""

from __future__ import annotations

import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt

FILE = "turngraph.toml"
PREFIX = "TURNGRAPH_"
CONFIG = "TURNGRAPH_CONFIG"

POLICIES = ("read-only", "ask", "auto")
"""From the one that lets least run unasked to the one that lets all."""


def default_store() -> Path:
    """The store file in the user's data directory."""
    return Path(platformdirs.user_data_dir("turngraph", appauthor=False)) / "turngraph.db"


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's settings file, whether it exists or not."""
    if named := environ.get(CONFIG):
        return Path(named).expanduser().absolute()
    return Path(platformdirs.user_config_dir("turngraph", appauthor=False)) / FILE


def _as_path(given: object) -> object:
    return Path(given) if isinstance(given, str) else given


def _as_dollars(given: object) -> object:
    """A file's number as the amount it is written as, not as the nearest binary fraction."""
    return Decimal(str(given)) if isinstance(given, int | float) and not isinstance(given, bool) else given


_Dollars = Annotated[Decimal, BeforeValidator(_as_dollars), Field(gt=0, allow_inf_nan=False)]
_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class NamedFlow(BaseModel):
    """A variant of the standard flow: its swaps, each as `ROLE=CLASS`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    swap: list[str]


def _not_the_standard(flows: dict[str, NamedFlow]) -> dict[str, NamedFlow]:
    if "standard" in flows:
        raise ValueError("standard is the flow without swaps; give yours another name, and set flow to it")
    return flows


class Settings(BaseModel):
    """The settings of one process.

    `flow` is `standard` or a name of `flows`, which only the user's own file can hold.

    `max_iterations` counts model requests and `max_tokens` caps one answer; `max_total_tokens` counts input and output
    of a whole turn, `max_cost` is in US dollars and `timeout` in seconds. `None` is no limit. `context_window` is what
    the model takes in at once, in tokens; `None` is what is known of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Annotated[str, Field(min_length=1)] = "offline"
    base_url: str | None = None
    policy: Literal["read-only", "ask", "auto"] = "ask"
    max_iterations: PositiveInt = 15
    max_tokens: PositiveInt | None = None
    max_total_tokens: PositiveInt | None = None
    max_cost: _Dollars | None = None
    timeout: _Seconds | None = None
    context_window: PositiveInt | None = None
    flow: Annotated[str, Field(min_length=1)] = "standard"
    flows: Annotated[dict[str, NamedFlow], AfterValidator(_not_the_standard)] = Field(
        default_factory=dict[str, NamedFlow]
    )
    store: Annotated[Path, BeforeValidator(_as_path)] = Field(default_factory=default_store)


TIGHTENED = ("policy", "max_iterations", "max_tokens", "max_total_tokens", "max_cost", "timeout")
"""The settings that a project's file may hold back."""


ONLY_IN_FILES = ("flows",)
"""The settings that no variable and no flag can spell."""


def is_looser(key: str, value: Any, bound: Any) -> bool:
    """Whether a value of a tightened setting lets more happen than a project's bound."""
    if key == "policy":
        return POLICIES.index(value) > POLICIES.index(bound)
    return value is None or value > bound
