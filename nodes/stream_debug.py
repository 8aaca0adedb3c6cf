"""What a stream looked like, for the debug log: bounded, and made only when debugging is on."""

from __future__ import annotations

from collections import Counter

from pydantic_ai.messages import (
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)

from .request_log import logger
from .state import RequestContext

EVENT_HISTORY_LIMIT = 200
RAW_STREAM_MAX_CHARS = 20_000
EVENT_LOG_LIMIT = 5
_PREVIEW = 200


class StreamDebug:
    """Collects a stream's events up to the caps, and says how many it saw and left out."""

    def __init__(self, request: RequestContext) -> None:
        self._request = request
        self.events: list[str] = []
        self.raw = ""
        self.seen = Counter[str]()
        self.raw_left_out = 0

    def record(self, event: ModelResponseStreamEvent) -> None:
        self.seen[event.event_kind] += 1
        if len(self.events) < EVENT_HISTORY_LIMIT:
            self.events.append(repr(event)[:_PREVIEW])
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                room = RAW_STREAM_MAX_CHARS - len(self.raw)
                self.raw += text[:room]
                self.raw_left_out += max(0, len(text) - room)
            case _:
                pass

    def log(self) -> None:
        """Write the preview: the first events, the counts, the beginning of the text, and what was left out."""
        for event in self.events[:EVENT_LOG_LIMIT]:
            logger.debug("[%s] stream event %s", self._request.request_id, event)
        logger.debug(
            "[%s] stream: %s; %d events kept, %d logged; text %r, %d characters kept, %d left out",
            self._request.request_id,
            dict(self.seen),
            len(self.events),
            min(len(self.events), EVENT_LOG_LIMIT),
            self.raw[:_PREVIEW],
            len(self.raw),
            self.raw_left_out,
        )
