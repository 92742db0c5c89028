"""What is said of a request before it is sent is what a real local server gets, but for secrets."""

from __future__ import annotations

import os
import subprocess
from base64 import b64encode

import pytest

from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import (
    API_KEY,
    CacheHints,
    Message,
    ModelInfo,
    ModelRequest,
    ToolCall,
    ToolSpec,
)
from helix_desktop.domain.request_extras import RequestExtras
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.model_factory import create_model
from helix_desktop.ui.inspector.from_window import curl_command, indented_json
from tests.support.image_bytes import png
from tests.support.model_contract import final_response
from tests.support.model_servers.chat_server import ChatServer, text_reply
from tests.support.model_servers.dialects import DIALECTS, DialectCase

KEY, TEAM = "sk-very-secret", "team-secret"
PICTURE = png(3, 2)
INFO = ModelInfo("box", "small", images=True, output=1_000, extras=RequestExtras(body={"top_k": 3}))
REQUEST = ModelRequest(
    (
        Message("system", "You help."),
        Message("user", f"It's \"$HOME\" `here`\nEND_OF_REQUEST\nmy key: {KEY}", images=(
            Image(digest_of(PICTURE), "image/png", 3, 2, len(PICTURE)),
        )),
        Message("assistant", "", (ToolCall("c1", "look", '{"at": "ü"}'),)),
        Message("tool", "Done.", call_id="c1", name="look"),
        Message("user", "And now?"),
    ),
    (ToolSpec("look", "Looks.", {"type": "object"}),),
    image_data={digest_of(PICTURE): PICTURE},
    cache=CacheHints("k", (2,)),
)  # fmt: skip


def endpoint(name: DialectName, base_url: str, http: HttpClient) -> Endpoint:
    """A server that wants a key, a header of the user's, and a secret one."""
    secrets = {"X-Team": TEAM}
    return Endpoint("box", base_url, KEY, http, name, headers={"X-Trace": "it's on"}, secret_headers=secrets)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_it_is_what_is_sent(dialect: DialectCase, http: HttpClient) -> None:
    async with ChatServer(lambda _: text_reply("Done."), wire_format=dialect.wire_format) as server:
        model = create_model(endpoint(dialect.name, server.base_url, http), INFO)
        wire = model.wire_request(REQUEST)
        await final_response(model, REQUEST)
        (sent,) = server.requests
    image = wire.body.replace(digest_of(PICTURE).encode(), b64encode(PICTURE))
    assert image.replace(b"[key]", KEY.encode()) == sent.body
    assert wire.url.endswith(sent.path)
    for text in (str(wire), indented_json(wire.body), curl_command(wire, str.upper)):
        assert KEY not in text
        assert TEAM not in text
    values = {API_KEY: KEY, "X-Team": TEAM}
    for header in wire.headers:
        assert sent.headers[header.name] == header.value + values.get(header.secret, "")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_command_sends_it(dialect: DialectCase) -> None:
    """As a shell reads it, whatever stands in it; secrets come from variables."""
    wire = create_model(endpoint(dialect.name, "http://me:pw@box:1/v1", HttpClient()), INFO).wire_request(
        REQUEST
    )
    command = curl_command(wire, lambda secret: secret.replace(" ", "_").replace("-", "_"))
    shell = "curl() { for word; do printf '%s\\0' \"$word\"; done; cat; }\n" + command
    ran = subprocess.run(
        ["sh", "-c", shell],
        capture_output=True,
        check=True,
        env={**os.environ, "api_key": KEY, "X_Team": TEAM},
    )
    *words, body = ran.stdout.split(b"\0")
    assert body == wire.body + b"\n"
    assert words[0].decode() == wire.url
    assert "pw" not in wire.url
    headers = dict(word.decode().split(": ", 1) for word in words if b": " in word)
    assert headers["x-trace"] == "it's on"
    assert headers["x-team"] == TEAM
    assert headers.get("authorization", f"Bearer {KEY}") == f"Bearer {KEY}"
    assert KEY in "".join(headers.values())
