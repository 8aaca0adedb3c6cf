"""The options that several commands take to run a turn, and to show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import wraps
from inspect import Parameter, Signature, signature
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

    model: ModelOption = None
    base_url: BaseUrlOption = None
    policy: PolicyOption = None
    max_iterations: MaxIterationsOption = None
    max_tokens: MaxTokensOption = None
    max_total_tokens: MaxTotalTokensOption = None
    max_cost: MaxCostOption = None
    timeout: TimeoutOption = None
    context_window: ContextWindowOption = None
    flow: FlowOption = None
    swap: SwapOption = None
    agent: AgentOption = None
    model_cache: ModelCacheOption = None

    def __post_init__(self) -> None:
        """Refuse a mode of the model cache that does not exist.

        Raises:
            Misuse: there is no such mode.
        """
        if self.model_cache is not None and self.model_cache[0] not in _CACHE_MODES:
            mode = self.model_cache[0]
            raise Misuse(f"--model-cache takes record, replay or strict, and then a file; {mode!r} is none of them")

    @property
    def cache(self) -> tuple[CacheMode, Path] | None:
        """The mode and the file of the model cache."""
        return None if self.model_cache is None else (_CACHE_MODES[self.model_cache[0]], self.model_cache[1])

    @property
    def limits(self) -> dict[str, Any]:
        """The budgets that were given, by their names in `Limits`."""
        names = ("max_iterations", "max_tokens", "max_total_tokens", "max_cost", "timeout", "context_window")
        given = {name: getattr(self, name) for name in names}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """How a turn is shown, checked as far as its own words go."""

    output: Output
    answer_file: AnswerFile | None
    quiet: bool
    verbose: bool
    thinking: Thinking
    debug: bool


def shown(
    *,
    output: OutputOption = "text",
    output_file: OutputFileOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    thinking: ThinkingOption = "fold",
    debug: DebugOption = False,
) -> Shown:
    """The options of showing a turn, together.

    Raises:
        Misuse: two of them contradict each other, or the file cannot be written.
    """
    if quiet and verbose:
        raise Misuse("--quiet shows less and --verbose more; give only one of them")
    return Shown(
        output=output,
        answer_file=None if output_file is None else AnswerFile(output_file),
        quiet=quiet,
        verbose=verbose,
        thinking=thinking,
        debug=debug,
    )


def with_turn_options(command: Callable[..., int]) -> Callable[..., int]:
    """A command whose parameters `chosen` and `how` are made of the options of running and of showing a turn."""
    makers = {name: (make, _parameters(make)) for name, make in (("chosen", Chosen), ("how", shown))}
    own = [one for one in _parameters(command) if one.name not in makers]

    @wraps(command)
    def spread(**given: Any) -> int:
        made = {
            name: make(**{one.name: given.pop(one.name) for one in taken}) for name, (make, taken) in makers.items()
        }
        return command(**given, **made)

    parameters = [*own, *(one for _, taken in makers.values() for one in taken)]
    keywords = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters]
    spread.__dict__["__signature__"] = Signature(keywords, return_annotation=int)
    spread.__annotations__ = {one.name: one.annotation for one in keywords}
    return spread


def _parameters(of: Callable[..., Any]) -> list[Parameter]:
    return list(signature(of, eval_str=True).parameters.values())
