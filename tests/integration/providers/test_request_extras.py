"""Extra headers and fields in requests to a real local server, and secrets that stand in no text."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from helix_desktop.domain.errors import ModelError
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest
from helix_desktop.domain.request_extras import RequestExtras
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.model_factory import create_model
from tests.support.model_contract import final_response
from tests.support.model_servers.chat_server import ChatServer, Reply, api_error, text_reply
from tests.support.model_servers.dialects import DIALECTS, DialectCase

INFO = ModelInfo("local", "small", output=2_000)
QUESTION = ModelRequest((Message("user", "How many?"),), effort="low")
SECRET = "s3cret-of-the-gateway"
EXTRAS = RequestExtras(
    {"X-Title": "Helix"},
    ("X-Gateway",),
    {"service_tier": "flex", "reasoning": {"summary": "auto"}, "output_config": {"format": "text"}},
)


async def ask(
    server: ChatServer, dialect: DialectCase, http: HttpClient, extras: RequestExtras, secret: str = SECRET
) -> None:
    secrets = dict.fromkeys(extras.secret_headers, secret)
    endpoint = Endpoint(
        *("local", server.base_url, "the-key", http, dialect.name),
        headers=extras.headers,
        secret_headers=secrets,
    )
    await final_response(create_model(endpoint, msgspec.structs.replace(INFO, extras=extras)), QUESTION)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_they_go_along_and_change_nothing_else(dialect: DialectCase, http: HttpClient) -> None:
    async with ChatServer(lambda _: text_reply("Two."), wire_format=dialect.wire_format) as server:
        await ask(server, dialect, http, RequestExtras())
        await ask(server, dialect, http, EXTRAS)
    plain, extended = server.bodies
    expected: dict[str, Any] = {**plain, "service_tier": "flex"}
    for name in ("reasoning", "output_config"):
        expected[name] = {**plain.get(name, {}), **EXTRAS.body[name]}
    assert extended == expected
    before, after = (dict(request.headers) for request in server.requests)
    assert after.pop("x-title") == "Helix"
    assert after.pop("x-gateway") == SECRET
    after["content-length"] = before["content-length"]
    assert after == before


async def test_a_secret_stands_in_no_error(http: HttpClient) -> None:
    def script(_request: dict[str, Any]) -> Reply:
        return api_error(403, f"the header X-Gateway: {SECRET} is not allowed here")

    async with ChatServer(script) as server:
        with pytest.raises(ModelError) as refused:
            await ask(server, DIALECTS[0], http, EXTRAS)
        with pytest.raises(ModelError, match="X-Gateway of local has no value"):
            await ask(server, DIALECTS[0], http, EXTRAS, secret="")
        with pytest.raises(ModelError, match="is invalid") as invalid:
            await ask(server, DIALECTS[0], http, EXTRAS, secret="one\ntwo-secret")
    assert SECRET not in f"{refused.value} {refused.value!r} {refused.value.why}"
    assert "[X-Gateway]" in refused.value.why
    assert "two-secret" not in str(invalid.value)
    assert len(server.requests) == 1, "without its secret a request is not sent"
