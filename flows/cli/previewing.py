"""`turngraph run --dry-run` and `--explain-context`: the first request of a turn, looked at and not made."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

import anyio
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from ...nodes.history.explain import Explained, explain
from ...tools.secret import environment_secrets
from ...tools.wording import count
from ..preview import Preview, Unasked, preview
from ..prompt import system_prompt
from ..sinks import plain_json
from ..store import Store
from .beginning import asked_by, limits_in, resolved_for, session_of
from .casting import casting
from .columns import Column, print_columns
from .perform import listen_to_debug
from .run import RunOptions
from .terminal import visible


def preview_once(options: RunOptions) -> int:
    """Print what was asked for of the first request, and return the exit code.

    Raises:
        TurngraphError: the turn could not begin, or would end before it asks the model.
    """
    listen_to_debug(options.shown)
    resolved = resolved_for(options)
    asked = asked_by(options.chosen, resolved)
    prompt = None if asked.agent else system_prompt(options.workdir)
    path = resolved.settings.store
    notices: list[str] = []
    with Store.open(path) if path.exists() else Store.in_memory() as store:
        session = session_of(store, options)
        history, skipped = ([], 0) if session is None else store.load_messages(session)
        if skipped:
            notices.append(f"{count(skipped, 'damaged message')} of the session left out")
        if session is not None and options.fork is None and store.unfinished_turn(session) is not None:
            notices.append("the turn before is not finished: what closes it comes before the prompt, and is not here")

    async def look() -> Preview:
        requests: list[Preview] = []
        async with casting(asked, options.workdir, lambda model: Unasked(model, requests)) as cast:
            return await preview(
                environment_secrets().redact(options.prompt.text),
                history,
                requests,
                model=cast.model,
                toolsets=cast.toolsets,
                flow=cast.flow,
                limits=limits_in(resolved.settings),
                instructions="" if prompt is None else prompt.text,
                session=session or "",
            )

    seen = anyio.run(look)
    notices += seen.notices
    if not options.shown.quiet:
        for notice in [*options.prompt.notes, *options.prompt.warnings, *resolved.notices, *notices]:
            print(f"turngraph: note: {visible(notice)}", file=sys.stderr)
    if options.dry_run:
        print(json.dumps(_request(seen, notices)))
    if options.explain_context:
        _explain(history, seen, options)
    return 0


def _request(seen: Preview, notices: Sequence[str]) -> dict[str, Any]:
    return {
        "schema": "turngraph.request/1",
        "model": seen.model,
        "settings": plain_json(seen.settings),
        "instructions": seen.instructions,
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
            for tool in seen.tools
        ],
        "messages": ModelMessagesTypeAdapter.dump_python(list(seen.messages), mode="json"),
        "notices": list(notices),
    }


def _explain(history: Sequence[ModelMessage], seen: Preview, options: RunOptions) -> None:
    told = explain(history, seen.messages)
    if options.dry_run:  # stdout has the request
        _print_context(told, sys.stderr)
    elif options.shown.output == "text":
        _print_context(told, sys.stdout)
    else:
        print(json.dumps({"schema": "turngraph.context/1", "messages": [asdict(one) for one in told]}))


def _print_context(told: Sequence[Explained], stream: TextIO) -> None:
    columns = [
        Column("MESSAGE", ["new" if one.number is None else str(one.number) for one in told]),
        Column("KIND", [one.kind for one in told], may_go=True),
        Column("TOKENS", [_tokens(one) for one in told]),
        Column("VERDICT", [one.verdict for one in told]),
        Column("WHAT", [visible(one.label) for one in told], may_shrink=True),
        Column("WHY", [visible(one.why) for one in told], may_shrink=True),
    ]
    print_columns(columns, stream)


def _tokens(one: Explained) -> str:
    return (
        f"{one.tokens:,}"
        if one.tokens == one.stored_tokens or not one.stored_tokens
        else (f"{one.tokens:,} of {one.stored_tokens:,}")
    )
