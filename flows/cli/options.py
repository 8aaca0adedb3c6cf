"""The options that several commands take to run a turn, and to show it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from .answer_file import AnswerFile
from .failures import Misuse
from .numbers import dollars, seconds, whole_number

Output = Literal["text", "json", "jsonl"]
PolicyName = Literal["read-only", "ask", "auto"]
Thinking = Literal["hide", "fold", "show"]
CacheMode = Literal["record", "replay", "strict"]
_CACHE_MODES: dict[str, CacheMode] = {"record": "record", "replay": "replay", "strict": "strict"}

ModelOption = Annotated[
    str | None, typer.Option("--model", help="The model that answers, such as openai:gpt-5-mini, or offline.")
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option("--base-url", help="A server that speaks OpenAI's chat completions, up to and with its /v1."),
]
PolicyOption = Annotated[
    PolicyName | None,
    typer.Option("--policy", help="Which tools may run: those that only read, those you agree to, or all."),
]
MaxIterationsOption = Annotated[
    int | None,
    typer.Option("--max-iterations", parser=whole_number, metavar="N", help="End the turn after N model requests."),
]
MaxTokensOption = Annotated[
    int | None,
    typer.Option("--max-tokens", parser=whole_number, metavar="N", help="Cap each model reply at N tokens."),
]
MaxTotalTokensOption = Annotated[
    int | None,
    typer.Option(
        "--max-total-tokens", parser=whole_number, metavar="N", help="End the turn once N tokens went in and out."
    ),
]
MaxCostOption = Annotated[
    Decimal | None,
    typer.Option(
        "--max-cost", parser=dollars, metavar="USD", help="End the turn once it has cost this many US dollars."
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option("--timeout", parser=seconds, metavar="SECONDS", help="End the turn after this many seconds."),
]
ContextWindowOption = Annotated[
    int | None,
    typer.Option(
        "--context-window",
        parser=whole_number,
        metavar="N",
        help="The model takes in N tokens at once; by default what is known of it.",
    ),
]
FlowOption = Annotated[
    str | None, typer.Option("--flow", metavar="NAME", help="Run the flow that your settings give this name.")
]
SwapOption = Annotated[
    list[str] | None,
    typer.Option("--swap", metavar="ROLE=CLASS", help="Let another class play a role; once for each role to swap."),
]
AgentOption = Annotated[
    str | None, typer.Option("--agent", metavar="PLACE", help="Go through the pydantic-ai agent at module:name.")
]
ModelCacheOption = Annotated[
    tuple[str, Path] | None,
    typer.Option(
        "--model-cache",
        metavar="MODE FILE",
        help="Take the model's replies from FILE, or write them there: record, replay (ask what is missing), strict.",
    ),
]
OutputOption = Annotated[
    Output,
    typer.Option("--output", help="What stdout gets: the answer, one JSON document, or a JSON line per event."),
]
OutputFileOption = Annotated[
    Path | None,
    typer.Option("--output-file", "-o", metavar="FILE", help="Write the answer to FILE too, whole or not at all."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Show only the answer and errors.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show the beginning of each tool's result.")]
ThinkingOption = Annotated[
    Thinking,
    typer.Option("--thinking", help="Leave the model's thinking out, tell its time on a terminal, or show it."),
]
DebugOption = Annotated[bool, typer.Option("--debug", help="Write a detailed log to stderr, secrets removed.")]


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What was said of how a turn is run; `None` is an option not given."""

    model: str | None = None
    base_url: str | None = None
    policy: PolicyName | None = None
    max_iterations: int | None = None
    max_tokens: int | None = None
    max_total_tokens: int | None = None
    max_cost: Decimal | None = None
    timeout: float | None = None
    context_window: int | None = None
    flow: str | None = None
    swap: tuple[str, ...] = ()
    agent: str | None = None
    model_cache: tuple[CacheMode, Path] | None = None

    @property
    def limits(self) -> dict[str, Any]:
        """The budgets that were given, by their names in `Limits`."""
        given = {
            "max_iterations": self.max_iterations,
            "max_tokens": self.max_tokens,
            "max_total_tokens": self.max_total_tokens,
            "max_cost": self.max_cost,
            "timeout": self.timeout,
            "context_window": self.context_window,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """How a turn is shown, checked as far as its own words go."""

    output: Output
    output_file: AnswerFile | None
    quiet: bool
    verbose: bool
    thinking: Thinking
    debug: bool


def shown(
    output: Output, output_file: Path | None, *, quiet: bool, verbose: bool, thinking: Thinking, debug: bool
) -> Shown:
    """The options of showing a turn, together.

    Raises:
        Misuse: two of them contradict each other, or the file cannot be written.
    """
    if quiet and verbose:
        raise Misuse("--quiet shows less and --verbose more; give only one of them")
    return Shown(
        output=output,
        output_file=None if output_file is None else AnswerFile(output_file),
        quiet=quiet,
        verbose=verbose,
        thinking=thinking,
        debug=debug,
    )


def cache(given: tuple[str, Path] | None) -> tuple[CacheMode, Path] | None:
    """The mode and the file of a model cache.

    Raises:
        Misuse: there is no such mode.
    """
    if given is None:
        return None
    mode, path = given
    if mode not in _CACHE_MODES:
        raise Misuse(f"--model-cache takes record, replay or strict, and then a file; {mode!r} is none of them")
    return _CACHE_MODES[mode], path
