"""Every streaming HTTP model passes the model contract, in each dialect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import product
from typing import Any, get_args

import pytest

from helix_desktop.agent.ports import Model
from helix_desktop.domain.dialects import DIALECTS as TRAITS
from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.model_factory import DIALECTS as MODULES
from helix_desktop.providers.retry import RetryPolicy
from tests.support.model_contract import ModelContract
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Disconnect,
    OpaqueReasoning,
    Reasoning,
    Reply,
    Script,
    StreamedReply,
    Text,
)
from tests.support.model_servers.dialects import DIALECTS, DialectCase


def scripted_reply(dialect: DialectCase) -> Script:
    """Call the tool first if there is one, then answer."""

    def answer(request: dict[str, Any]) -> Reply:
        thought = (Reasoning("Let me think. "), Reasoning("So."), OpaqueReasoning("seal"))
        if request.get("tools") and dialect.ends_with_user_message(request):
            calls = (Call("list_directory", '{"path": "."}'), Call("list_directory"))
            return StreamedReply(*thought, Text("Let me look."), *calls)
        return StreamedReply(*thought, Text("A readme "), Text("and sources."))

    return answer


class FlakyServer:
    """Cuts the first streams short, then answers."""

    def __init__(self, answer: Script) -> None:
        self.cuts = 2
        self.answer = answer

    def __call__(self, request: dict[str, Any]) -> Any:
        """Cut two streams, then answer."""
        self.cuts -= 1
        return StreamedReply(Text("A rea"), Disconnect()) if self.cuts >= 0 else self.answer(request)


async def _no_wait(_seconds: float, _skip: asyncio.Event) -> None:
    return


def test_every_dialect_has_traits_a_module_and_a_server_that_speaks_it() -> None:
    """A new dialect that is forgotten in one of these places is named here."""
    names = set(get_args(DialectName))
    assert (set(TRAITS), set(MODULES), {case.name for case in DIALECTS}) == (names, names, names)


class TestDialects(ModelContract):
    """Runs against a server without faults and one that cuts its first streams."""

    @pytest.fixture(
        params=product(DIALECTS, ("steady", "flaky")), ids=lambda pair: f"{pair[0].name}-{pair[1]}"
    )
    async def model(self, request: pytest.FixtureRequest) -> AsyncIterator[Model]:
        dialect, dialect_class = request.param
        script = FlakyServer(scripted_reply(dialect)) if dialect_class == "flaky" else scripted_reply(dialect)
        http = HttpClient()
        async with ChatServer(script, wire_format=dialect.wire_format) as server:
            yield dialect.model(server, http, RetryPolicy(pause=_no_wait), ModelInfo("local", "small"))
            await http.aclose()
