"""Model servers on the usual ports of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import cast

import anyio

from .report import Line, missing, problem

USUAL: Mapping[str, int] = MappingProxyType({"Ollama": 11434, "llama.cpp": 8080, "vLLM": 8000})
SECONDS = 2.0
_LARGEST_REPLY = 256 * 1024
_START = {
    "Ollama": "ollama serve",
    "llama.cpp": "llama-server -m MODEL.gguf",
    "vLLM": "vllm serve MODEL",
}


def lines(ports: Mapping[str, int] = USUAL) -> Iterator[Line]:
    """A line a server; all are asked at once, on 127.0.0.1 only, for at most two seconds."""
    replies = anyio.run(_ask_all, ports)
    for name, port in ports.items():
        yield _line(name, port, replies[name])


async def _ask_all(ports: Mapping[str, int]) -> dict[str, bytes | None]:
    replies: dict[str, bytes | None] = dict.fromkeys(ports)

    async def ask(name: str, port: int) -> None:
        replies[name] = await _ask(port)

    async with anyio.create_task_group() as tasks:
        for name, port in ports.items():
            tasks.start_soon(ask, name, port)
    return replies


async def _ask(port: int) -> bytes | None:
    """What answers to a request for its models, as it came; `None` where nobody listens."""
    request = f"GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    raw = b""
    with anyio.move_on_after(SECONDS):
        try:
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(request.encode())
                while len(raw) < _LARGEST_REPLY:
                    raw += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return raw
        except OSError:
            return None
    return raw


def _line(name: str, port: int, raw: bytes | None) -> Line:
    address = f"http://127.0.0.1:{port}/v1"
    if raw is None:
        return missing(f"nothing listens where {name} usually does, port {port}", _START[name])
    models = _models(raw)
    if models is None:
        return problem(f"port {port}, where {name} usually listens, is taken by something that lists no models")
    if not models:
        return missing(f"a server at {address} has no model", "ollama pull MODEL" if name == "Ollama" else "")
    more = f" and {len(models) - 5} more" if len(models) > 5 else ""
    return Line(
        "ok",
        f"a server at {address} has {', '.join(models[:5])}{more}",
        f"turngraph run --base-url {address} --model openai-chat:{models[0]} PROMPT",
    )


def _models(raw: bytes) -> list[str] | None:
    """The names of the models in a reply, or `None` if it lists none."""
    head, _, body = raw.partition(b"\r\n\r\n")
    if head.split(b"\r\n", 1)[0].split(b" ")[1:2] != [b"200"]:
        return None
    try:
        document: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or "data" not in document:
        return None
    listed = cast(dict[str, object], document)["data"]
    if not isinstance(listed, list):
        return [] if listed is None else None
    ids = [cast(dict[str, object], one).get("id") for one in cast(list[object], listed) if isinstance(one, dict)]
    return [one for one in ids if isinstance(one, str) and one]
