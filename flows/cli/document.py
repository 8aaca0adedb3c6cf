"""The JSON document of one turn, schema `turngraph.turn/1`, on stdout with `run --output json`.

| field          | meaning |
|----------------|---|
| `schema`       | `"turngraph.turn/1"`; a field may be added under it, a changed meaning gets a new number |
| `outcome`      | `completed`, `internal_error`, `usage_error`, `provider_failure`, `budget_exhausted`, |
|                | `refused`, `no_answer`, `session_busy`, `interrupted`, `aborted` or `terminated` |
| `exit_code`    | what the process exits with |
| `answer`       | the model's final text; may be cut off when the outcome is `no_answer` |
| `error`        | `null`, or `kind` (the outcome) and `message` (one sentence) |
| `turn_id`, `session_id`, `request_id`, `flow`, `model` | `null` where no turn came to be |
| `iterations`   | model requests that were answered |
| `usage`        | `input_tokens`, `output_tokens`, `requests` and what else the provider counted |
| `cost_usd`     | a decimal string; `null` where a reply had no known price |
| `duration_ms`  | of the turn |
| `edited_files` | files of the workspace that tools wrote, relative to it |
| `saved`        | whether the end of the turn is in the store |
| `lineup`       | by role: `class` (as `module:QualName`) and `source`, the hash of its file |
| `graph_hash`   | the same for turns that ran the same graph; `null` where no turn came to be |
| `tool_calls`   | in the order they finished: `name`, `status` (`ok`, `error`, `refused`, `cancelled`, |
|                | `unknown`), `args`, `duration_ms`, `size` (characters of the result), `edited_files` |
| `notices`      | `level` (`info`, `warning`) and `text` of what was mended, cut or tried again |

With `--output jsonl` every line is an event, schema `turngraph.event/1`: `type` is the event's class name in
snake case (`turngraph.nodes.events` documents the classes), the other keys are its fields. The last line is
`turn_ended`; its `result` holds the fields above except `schema`, `tool_calls` and `notices`, which are
events of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...nodes.events import Event
    from ...nodes.outcome import TurnResult

TURN_SCHEMA = "turngraph.turn/1"


class DocumentSink:
    """Gathers what the document of a turn tells beside its result."""

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] = []
        self._notices: list[dict[str, str]] = []

    async def emit(self, event: Event) -> None:
        from ...nodes.events import Notice, ToolFinished
        from ..sinks import plain_json

        if isinstance(event, ToolFinished):
            self._calls.append(
                {
                    "name": event.name,
                    "status": event.status.value,
                    "args": plain_json(event.args),
                    "duration_ms": event.duration_ms,
                    "size": event.size,
                    "edited_files": list(event.edited),
                }
            )
        elif isinstance(event, Notice):
            self._notices.append({"level": event.level, "text": event.text})

    def document(self, result: TurnResult) -> dict[str, Any]:
        from ..sinks import result_json

        return {
            "schema": TURN_SCHEMA,
            **result_json(result),
            "tool_calls": self._calls,
            "notices": self._notices,
        }


def error_document(form: str, kind: str, exit_code: int, message: str) -> dict[str, Any]:
    """The document (`json`) or the only line (`jsonl`) where no turn came to be."""
    absent = dict.fromkeys(("turn_id", "session_id", "request_id", "flow", "model"))
    result: dict[str, Any] = {
        "outcome": kind,
        "exit_code": exit_code,
        "answer": "",
        "error": {"kind": kind, "message": message},
        **absent,
        "iterations": 0,
        "usage": {"requests": 0, "input_tokens": 0, "output_tokens": 0},
        "cost_usd": "0",
        "duration_ms": 0,
        "edited_files": [],
        "saved": False,
        "lineup": {},
        "graph_hash": None,
    }
    if form == "jsonl":
        return {"schema": "turngraph.event/1", "type": "turn_ended", "result": result}
    return {"schema": TURN_SCHEMA, **result, "tool_calls": [], "notices": []}
