"""Sign-in at a server of the protocol's own package, by an authorization server of others."""

from __future__ import annotations

import re
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
import msgspec
import pytest

from helix_desktop.agent.tool_calls.toolset import Toolset
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.mcp_server import McpServerConfig, SignIn
from helix_desktop.mcp.client import oauth
from helix_desktop.mcp.client.servers import Hub, ServerContext
from helix_desktop.system.task_scope import TaskScope
from tests.support.mcp.mcp_rig import McpRig, approved_server
from tests.support.peer_processes import PEERS, run_peer

pytestmark = pytest.mark.needs_peer(package="oidc-provider")
HERE = Path(__file__).parent


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of the MCP server, and that of the authorization server."""
    secret = secrets.token_urlsafe(16)
    node = (shutil.which("node") or "node", str(HERE / "authorization_server.mjs"), str(PEERS.node), secret)
    with run_peer(node, tmp_path / "node.log") as issuer:
        command = (sys.executable, str(HERE / "guarded_server.py"), issuer.address, secret)
        with run_peer(command, tmp_path / "server.log") as server:
            yield f"{server.address}/mcp", issuer.address


class Rig(McpRig):
    """A workspace with the server that asks for a sign-in, the sign-in in force, and the user's browser."""

    def __init__(self, root: Path, url: str) -> None:
        super().__init__(root)
        self.url = url
        self.current_sign_in: SignIn | None = None
        self.is_allowing = True
        self.last_page = ""
        context = ServerContext(root, {}, self._secrets, load_sign_in=self._load, save_sign_in=self._save)
        self.hub = Hub(context, self.scope.start, self._on_changed)
        self.tools = Toolset(self.hub)
        self.hub.on_tools_changed = self.tools.refresh
        self.browsers = TaskScope()

    async def _load(self, _: McpServerConfig) -> SignIn | None:
        return self.current_sign_in

    async def _save(self, _: McpServerConfig, sign_in: SignIn | None) -> None:
        self.current_sign_in = sign_in

    async def start(self) -> str:
        """Start the server anew; return its state."""
        config = approved_server("guarded", command="", args=(), url=self.url)
        await self.hub.set_servers((config,), True, "guarded")
        await self.hub.wait_settled(60)
        return self.actor("guarded").status.state

    async def is_signed_in(self) -> bool:
        return self.current_sign_in is not None or await self.start() != "signed_out"

    async def sign_in(self) -> None:
        self.current_sign_in = await oauth.sign_in(self.url, {}, self._open_browser, str)
        await self.browsers.close()

    def _open_browser(self, address: str) -> None:
        self.browsers.start(self.visit(address), "browser")

    async def visit(self, address: str) -> None:
        """Follow the pages: fill in each form, or cancel at the page that asks for consent."""
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            page = await browser.get(address)
            while action := re.search(r'action="([^"]+)"', page.text):
                (prompt,) = re.findall(r'name="prompt" value="(\w+)"', page.text)
                url = str(page.url)
                if prompt == "consent" and not self.is_allowing:
                    page = await browser.get(f"{url}/abort")
                    continue
                form = {"prompt": prompt, "login": "mara", "password": "x"}
                page = await browser.post(urljoin(url, action[1]), data=form)
            self.last_page = page.text


@pytest.fixture
async def rig(tmp_path: Path, guarded: tuple[str, str]) -> AsyncIterator[Rig]:
    rig = Rig(tmp_path, guarded[0])
    yield rig
    await rig.close()


async def say(rig: Rig) -> str:
    return await rig.call_text("mcp__guarded__say", text="hello")


async def test_a_sign_in_is_used_refreshed_and_revoked(rig: Rig, guarded: tuple[str, str]) -> None:
    """Registered by itself, with PKCE and the server as its resource."""
    issuer = guarded[1]
    assert await rig.start() == "signed_out"
    await rig.sign_in()
    assert "You can close this tab" in rig.last_page
    assert await rig.start() == "ready", rig.actor("guarded").status.reason
    assert await say(rig) == "You said: hello"
    first = rig.current_sign_in
    assert first is not None
    assert (first.resource, first.scope.split()[0], first.token_url) == (rig.url, "mcp", f"{issuer}/token")

    rig.current_sign_in = msgspec.structs.replace(first, expires_ms=1)
    assert await rig.start() == "ready"
    assert await say(rig) == "You said: hello"
    second = rig.current_sign_in
    assert second.access_token != first.access_token, "it was refreshed"
    assert second.refresh_token not in ("", first.refresh_token), "each is good once"

    await revoke(issuer, second)
    with pytest.raises(HelixError, match="asks for a sign-in"):
        await say(rig)
    assert not await rig.is_signed_in()
    await rig.sign_in()
    assert await rig.start() == "ready"


async def test_a_denied_consent_is_said(rig: Rig) -> None:
    rig.is_allowing = False
    with pytest.raises(HelixError, match="Access was denied in the browser"):
        await rig.sign_in()


async def test_an_answer_with_another_state_is_not_taken(rig: Rig) -> None:
    answers: list[int] = []

    async def forge_then_visit(address: str) -> None:
        query = parse_qs(urlsplit(address).query)
        async with httpx2.AsyncClient() as browser:
            forged = await browser.get(f"{query['redirect_uri'][0]}?code=stolen&state=other")
            answers.append(forged.status_code)
        await rig.visit(address)

    def open_browser(address: str) -> None:
        rig.browsers.start(forge_then_visit(address), "browser")

    rig.current_sign_in = await oauth.sign_in(rig.url, {}, open_browser, str)
    assert answers == [400]
    assert await rig.start() == "ready"


async def revoke(issuer: str, sign_in: SignIn) -> None:
    async with httpx2.AsyncClient() as client:
        form = {"token": sign_in.refresh_token, "client_id": sign_in.client_id}
        (await client.post(f"{issuer}/token/revocation", data=form)).raise_for_status()
