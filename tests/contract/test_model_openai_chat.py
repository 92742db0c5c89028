"""The streaming model over HTTP keeps the promises of every model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from helix_desktop.agent.ports import Model
from helix_desktop.context.message import ModelInfo
from helix_desktop.providers.http import Http
from helix_desktop.providers.openai_chat import OpenAIChat
from helix_desktop.providers.retry import Retries
from tests.support.chat_server import Call, ChatServer, Cut, Reasoning, Reply, Stream, Text
from tests.support.model_contract import ModelContract


def answer(request: dict[str, Any]) -> Reply:
    """Look first, when there is a tool to look with; then speak."""
    if request.get("tools") and request["messages"][-1]["role"] == "user":
        return Stream(Text("Let me look."), Call("list_directory", '{"path": "."}'), Call("list_directory"))
    return Stream(Reasoning("Let me think. "), Reasoning("So."), Text("A readme "), Text("and sources."))


class Flaky:
    """Cuts the first stream of each connection's life short, and answers from then on."""

    def __init__(self) -> None:
        self.cuts = 2

    def __call__(self, request: dict[str, Any]) -> Reply:
        """Cut twice, then answer."""
        self.cuts -= 1
        return Stream(Text("A rea"), Cut()) if self.cuts >= 0 else answer(request)


async def _no_wait(_seconds: float) -> None:
    return


class TestOpenAIChat(ModelContract):
    """Against a server without faults, and one that cuts its first streams."""

    @pytest.fixture(params=["steady", "flaky"])
    async def model(self, request: pytest.FixtureRequest) -> AsyncIterator[Model]:
        script = Flaky() if request.param == "flaky" else answer
        http = Http()
        async with ChatServer(script) as server:
            yield OpenAIChat(
                ModelInfo("local", "small"), server.base_url, http=http, retries=Retries(sleep=_no_wait)
            )
            await http.aclose()
