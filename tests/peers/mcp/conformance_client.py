"""The client of the protocol's conformance suite: `conformance_client.py URL`, our servers behind it.

It does what a user does: it signs in where the server asks for it, calls each tool once, and answers
questions with their defaults.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2

from helix_desktop.agent.tool_calls.toolset import Toolset
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.mcp_server import McpServerConfig, SignIn
from helix_desktop.domain.messages import ToolSpec
from helix_desktop.domain.question import ServerQuestion, ServerReply
from helix_desktop.domain.tools import AllowedCall
from helix_desktop.mcp.client import oauth
from helix_desktop.mcp.client.servers import Hub, ServerContext
from helix_desktop.system.task_scope import TaskScope
from tests.support.mcp.mcp_rig import McpRig, approved_server

NAME = "suite"
_SETTLE_S = 25.0
_MAX_SIGN_INS = 3
_SAMPLES: dict[str, Any] = {
    "number": 5,
    "integer": 5,
    "boolean": True,
    "string": "text",
    "array": [],
    "object": {},
    "None": "text",
}


class Rig(McpRig):
    """A workspace with the suite's server, and a user who signs in."""

    def __init__(self, root: Path, url: str) -> None:
        super().__init__(root)
        self.url = url
        self.current_sign_in: SignIn | None = None
        self.sign_in_count = 0
        context = ServerContext(root, {}, self._secrets, load_sign_in=self._load, save_sign_in=self._save)
        self.hub = Hub(context, self.scope.start, self._on_changed)
        self.tools = Toolset(self.hub)
        self.hub.on_tools_changed = self.tools.refresh
        self.browsers = TaskScope()

    async def _load(self, _: McpServerConfig) -> SignIn | None:
        return self.current_sign_in

    async def _save(self, _: McpServerConfig, sign_in: SignIn | None) -> None:
        self.current_sign_in = sign_in

    async def start(self) -> None:
        """Start the server anew; sign in as long as it asks for that."""
        config = approved_server(NAME, command="", args=(), url=self.url)
        await self.hub.set_servers((config,), True, NAME)
        await self.hub.wait_settled(_SETTLE_S)
        sys.stderr.write(f"{self.actor(NAME).status}\n")
        if self.actor(NAME).status.state == "signed_out":
            await self.sign_in()
            await self.start()

    async def sign_in(self) -> None:
        if self.sign_in_count >= _MAX_SIGN_INS:
            raise SystemExit("It asks for a sign-in again and again.")
        self.sign_in_count += 1
        needed = self.current_sign_in.needed_scope if self.current_sign_in else ""
        self.current_sign_in = await oauth.sign_in(self.url, {}, self._open_browser, str, needed)
        await self.browsers.close()

    def _open_browser(self, address: str) -> None:
        self.browsers.start(_visit(address), "browser")

    async def call_tools(self, planned: list[dict[str, Any]]) -> None:
        """Call what the suite plans, else each tool once."""
        for call in planned:
            await self._call(f"mcp__{NAME}__{call['name']}", call["arguments"])
        for spec in () if planned else self.tools.specs:
            await self._call(spec.name, self._sample(spec))

    async def _call(self, name: str, arguments: dict[str, Any]) -> None:
        digest = next((tool.digest for tool in self.actor(NAME).tools if tool.spec.name == name), "")
        call = AllowedCall("c1", name, json.dumps(arguments), digest, ask=_accept_defaults)
        try:
            await self.tools.run(call)
        except ToolError as error:
            sys.stderr.write(f"{name}: {error}\n")
            if self.actor(NAME).status.state == "signed_out":
                await self.sign_in()
                await self.start()
                await self._call(name, arguments)

    def _sample(self, spec: ToolSpec) -> dict[str, Any]:
        """Return arguments of the types that a tool takes; as a schema, what another tool takes."""
        others = [other.parameters for other in self.tools.specs if other is not spec]
        samples = {**_SAMPLES, "schema": others[0] if others else {}}
        properties = spec.parameters.get("properties", {})
        return {
            name: samples["schema" if name == "schema" else str(schema.get("type"))]
            for name, schema in properties.items()
        }


async def _visit(address: str) -> None:
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        await browser.get(address)


async def _accept_defaults(question: ServerQuestion) -> ServerReply:
    answers = tuple((field.name, field.default) for field in question.fields if field.default is not None)
    return ServerReply(action="accept", content=answers)


async def main(url: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Path(folder), url)
        try:
            await rig.start()
            context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
            await rig.call_tools(context.get("toolCalls", []))
        finally:
            await rig.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
