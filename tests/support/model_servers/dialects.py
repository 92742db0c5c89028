"""The three dialects: how a server speaks each, and the product's model for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.retry import RetryPolicy
from helix_desktop.providers.streaming import STALL_S, StreamedModel
from tests.support.model_servers.chat_server import ChatServer
from tests.support.model_servers.connect import connect_model
from tests.support.model_servers.wire_formats import (
    AnthropicWireFormat,
    ChatWireFormat,
    ResponsesWireFormat,
    WireFormat,
)


@dataclass
class SleepRecorder:
    durations_s: list[float] = field(default_factory=list)

    @property
    def retry_policy(self) -> RetryPolicy:
        """Retries that sleep like this, without chance."""
        return RetryPolicy(pause=self.pause, jitter=lambda: 0.0)

    async def pause(self, seconds: float, _skip: asyncio.Event) -> None:
        """Record the duration instead of waiting."""
        self.durations_s.append(seconds)


@dataclass(frozen=True)
class DialectCase:
    """One dialect: its name, its wire for the server."""

    name: DialectName
    wire_format: WireFormat

    def model(
        self,
        server: ChatServer,
        http: HttpClient,
        retry_policy: RetryPolicy,
        info: ModelInfo,
        *,
        key: str = "",
        stall_s: float = STALL_S,
    ) -> StreamedModel:
        """A model behind a test server; ids that it has to make are made_0, made_1 and so on."""
        ids = iter(range(1000))
        return connect_model(
            self.name,
            info,
            server.base_url,
            key,
            http=http,
            retry_policy=retry_policy,
            new_id=lambda: f"made_{next(ids)}",
            stall_s=stall_s,
        )

    def ends_with_user_message(self, request: Mapping[str, Any]) -> bool:
        """Return True if a request ends with the user's message, not with a tool's answer."""
        last = (request["input"] if self.name == "openai-responses" else request["messages"])[-1]
        content = last.get("content")
        answered = isinstance(content, list) and content[0].get("type") == "tool_result"
        return last.get("role") == "user" and not answered


DIALECTS = (
    DialectCase("openai-chat", ChatWireFormat()),
    DialectCase("openai-responses", ResponsesWireFormat()),
    DialectCase("anthropic", AnthropicWireFormat()),
)
