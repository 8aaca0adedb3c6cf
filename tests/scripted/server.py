"""A model server on loopback that answers from a script and judges every request like the real one.

    with serving(calls(call("read_file", path="a.txt")), say("It says hello.")) as server:
        ...                                    # OpenAI chat completions at server.base_url
    assert server.violations == []

One step of the script answers one request. A request that breaks the API's order rules is answered with HTTP
400 and takes no step; so is one that comes when the script is at its end.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.from_thread import start_blocking_portal
from anyio.streams.buffered import BufferedByteReceiveStream

from .replies import Drop, Garbage, Hang, Json, Reply, Status, Step, completion, frames, identify
from .rules import violation


@dataclass(frozen=True)
class Request:
    """What a client asked: the path, the headers in lower case, and the body."""

    path: str
    headers: dict[str, str]
    body: Json

    @property
    def messages(self) -> list[Json]:
        return self.body.get("messages", [])

    @property
    def roles(self) -> list[str]:
        """Who speaks, in order, after the instructions."""
        return [message["role"] for message in self.messages if message["role"] not in ("system", "developer")]

    @property
    def results(self) -> list[str]:
        """The contents of the tool messages, in order."""
        return [str(message["content"]) for message in self.messages if message["role"] == "tool"]

    @property
    def prompts(self) -> list[str]:
        """The contents of the user messages, in order, as they were sent."""
        return [str(message["content"]) for message in self.messages if message["role"] == "user"]

    @property
    def tools(self) -> set[str]:
        return {tool["function"]["name"] for tool in self.body.get("tools", ())}


class ScriptedServer:
    """The server's script and what it saw. `hanging` is set while a client waits in a `Hang`."""

    def __init__(self, *script: Step) -> None:
        self.script = deque(script)
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self.hanging = threading.Event()
        self.base_url = ""

    def add(self, *steps: Step) -> None:
        self.script.extend(steps)

    @property
    def last(self) -> Request:
        return self.requests[-1]

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[ScriptedServer]:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
        self.base_url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/v1"
        async with listener, anyio.create_task_group() as connections:
            connections.start_soon(listener.serve, self._connection)
            yield self
            connections.cancel_scope.cancel()

    async def _connection(self, stream: SocketStream) -> None:
        reader = BufferedByteReceiveStream(stream)
        async with stream:
            try:
                while request := await _read(reader):
                    await self._answer(stream, request)
            except (anyio.EndOfStream, anyio.IncompleteRead):
                return  # the client is done
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the client went away, or the script dropped it

    async def _answer(self, stream: SocketStream, request: Request) -> None:
        self.requests.append(request)
        broken = self._complaint(request)
        if broken is None:
            await self._play(stream, request, self.script.popleft())
        else:
            self.violations.append(broken)
            await _send(stream, 400, {"error": {"message": broken, "type": "invalid_request_error"}})

    def _complaint(self, request: Request) -> str | None:
        if not request.path.endswith("/chat/completions"):
            return f"no such path: {request.path}"
        if not self.script:
            return f"the script is at its end and request {len(self.requests)} came"
        return violation(request.messages)

    async def _play(self, stream: SocketStream, request: Request, step: Step) -> None:
        match step:
            case Status(code, body, retry):
                await _send(stream, code, body, {} if retry else {"x-should-retry": "false"})
            case Garbage(body, content_type):
                await _send(stream, 200, body, {"content-type": content_type})
            case Reply():
                await self._reply(stream, request, step)
            case Hang(reply, after):
                await self._reply(stream, request, reply, stop_after=after)
                self.hanging.set()
                await stream.receive()
            case Drop(reply, after):
                await self._reply(stream, request, reply, stop_after=after)
                await stream.aclose()

    async def _reply(self, stream: SocketStream, request: Request, reply: Reply, stop_after: int | None = None) -> None:
        number, model = len(self.requests), str(request.body.get("model"))
        reply = identify(reply, number)
        if not request.body.get("stream") and stop_after is None:
            await _send(stream, 200, completion(reply, model=model, number=number))
            return
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        include_usage = "include_usage" in str(request.body.get("stream_options"))
        sent = frames(reply, model=model, number=number, include_usage=include_usage)
        for position, frame in enumerate(sent):
            if position == stop_after:
                return
            await stream.send(_chunk(f"data: {json.dumps(frame)}\n\n"))
        await stream.send(_chunk("data: [DONE]\n\n") + b"0\r\n\r\n")


@contextmanager
def serving(*script: Step) -> Generator[ScriptedServer]:
    """Serve a script from a thread of its own."""
    server = ScriptedServer(*script)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(server.listening()):
        yield server


async def _read(reader: BufferedByteReceiveStream) -> Request:
    head = (await reader.receive_until(b"\r\n\r\n", 65536)).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    body = await reader.receive_exactly(int(headers.get("content-length", "0")))
    return Request(path=head[0].split(" ")[1], headers=headers, body=json.loads(body or b"{}"))


async def _send(stream: SocketStream, code: int, body: Json | str, extra: dict[str, str] | None = None) -> None:
    payload = (body if isinstance(body, str) else json.dumps(body)).encode()
    headers = {"content-type": "application/json", "content-length": str(len(payload)), **(extra or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    await stream.send(f"HTTP/1.1 {code} Scripted\r\n{lines}\r\n".encode() + payload)


def _chunk(text: str) -> bytes:
    payload = text.encode()
    return b"%x\r\n%s\r\n" % (len(payload), payload)
