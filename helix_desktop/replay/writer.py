"""The writer of summaries in a replay: it stands in a model's place, and extracts instead of composing."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from helix_desktop.context.message import Answer, Arrival, ModelInfo, Request, Usage
from helix_desktop.providers.demo import write_summary
from helix_desktop.replay.counting import RecordedCounter


class SummaryWriter:
    """A model that answers summary requests at once and the same way each time; `asked` are their tokens."""

    def __init__(self, info: ModelInfo, counter: RecordedCounter) -> None:
        self.info = info
        self.asked: list[int] = []
        self._counter = counter

    async def stream(self, request: Request) -> AsyncGenerator[Arrival, None]:
        """The summary that the request asks for."""
        counts = await self._counter.count([message.text for message in request.messages])
        self.asked.append(sum(counts))
        text = write_summary(request.messages[-1].text)
        (written,) = await self._counter.count([text])
        yield Answer(text, usage=Usage(sum(counts), written))
