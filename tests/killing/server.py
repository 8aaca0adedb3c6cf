"""A scripted model server that gives a request that it has seen before the reply it gave then."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from anyio.abc import SocketStream
from anyio.from_thread import start_blocking_portal

from ..scripted.replies import Status, Step
from ..scripted.rules import violation
from ..scripted.server import Request, ScriptedServer


class SteadyServer(ScriptedServer):
    """`asked` counts each request: a process that asks again after a cut must ask the very same."""

    def __init__(self, *script: Step) -> None:
        super().__init__(*script)
        self.asked = Counter[str]()
        self._said = dict[str, Step]()

    def tell(self, *script: Step) -> None:
        """Begin a script anew, whatever was asked before."""
        self._said.clear()
        self.script.clear()
        self.add(*script)

    async def _answer(self, stream: SocketStream, request: Request) -> None:
        self.requests.append(request)
        question = json.dumps(request.body, sort_keys=True)
        self.asked[question] += 1
        broken = violation(request.messages)
        if broken is None and question not in self._said and not self.script:
            broken = f"the script is at its end and request {len(self.requests)} came"
        if broken is not None:
            self.violations.append(broken)
            step: Step = Status(400, {"error": {"message": broken, "type": "invalid_request_error"}})
        elif question in self._said:
            step = self._said[question]
        else:
            step = self._said[question] = self.script.popleft()
        await self._play(stream, request, step)


@contextmanager
def steady(*script: Step) -> Generator[SteadyServer]:
    """Serve a script from a thread of its own."""
    server = SteadyServer(*script)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(server.listening()):
        yield server
