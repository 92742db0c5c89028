"""An MCP server that takes only the tokens of an issuer: `guarded_server.py ISSUER SECRET`."""

from __future__ import annotations

import asyncio
import socket
import sys

import httpx2
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer


class Introspection:
    def __init__(self, issuer: str, secret: str) -> None:
        self._url = f"{issuer}/token/introspection"
        self._secret = secret

    async def verify_token(self, token: str) -> AccessToken | None:
        async with httpx2.AsyncClient() as client:
            login = ("resource-server", self._secret)
            answer = (await client.post(self._url, data={"token": token}, auth=login)).json()
        if not answer["active"]:
            return None
        return AccessToken(
            token=token, client_id=answer["client_id"], scopes=answer["scope"].split(), resource=answer["aud"]
        )


def main(issuer: str, secret: str) -> None:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    auth = AuthSettings.model_validate({  # as text: a URL would get a slash, and be another issuer
        "issuer_url": issuer, "resource_server_url": url, "required_scopes": ["mcp"],
        "validate_token_resource": True,
    })  # fmt: skip
    server = MCPServer("guarded", token_verifier=Introspection(issuer, secret), auth=auth)

    @server.tool()
    def say(text: str) -> str:
        """Says a text."""
        return f"You said: {text}"

    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning", timeout_graceful_shutdown=1)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    main(*sys.argv[1:])
