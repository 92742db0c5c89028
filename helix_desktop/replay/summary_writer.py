"""The summary writer of a replay: replaces a model, and extracts instead of composing."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from helix_desktop.domain.messages import ModelInfo, ModelRequest, ModelResponse, StreamItem, Usage
from helix_desktop.providers.demo.model import write_summary
from helix_desktop.replay.counter import ReplayTokenCounter


class SummaryWriter:
    """A deterministic model for summary requests; `input_tokens` are the tokens of each."""

    def __init__(self, info: ModelInfo, counter: ReplayTokenCounter) -> None:
        self.info = info
        self.input_tokens: list[int] = []
        self._counter = counter

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Yield the requested summary."""
        counts = await self._counter.count([message.text for message in request.messages])
        self.input_tokens.append(sum(counts))
        text = write_summary(request.messages[-1].text)
        (output_tokens,) = await self._counter.count([text])
        yield ModelResponse(text, usage=Usage(sum(counts), output_tokens))
