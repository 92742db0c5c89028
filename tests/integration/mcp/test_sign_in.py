"""Sign-in at MCP servers over HTTP: real services, a real authorization server and MCP server on loopback."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.config.paths import DataDir
from helix_desktop.config.secrets import SecretStore
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.messages import ToolCall
from helix_desktop.mcp.client import oauth
from helix_desktop.mcp.client.servers import Hub, ServerContext
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.mcp_config import McpServerStatus, ServerDraft
from helix_desktop.services.mcp_servers import SIGN_IN_DETAILS
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.words.translation import error_text
from tests.support.mcp.authorization_server import GuardedServer, browse, serve_guarded
from tests.support.mcp.raw_http_server import RawHttpServer
from tests.support.memory_keychain import MemoryKeychain

Browser = Callable[[str], None]


class LockableKeychain(MemoryKeychain):
    is_locked = False

    def set_password(self, service: str, username: str, password: str) -> None:
        """Write an item, or fail as a locked keychain does."""
        if self.is_locked:
            raise OSError("locked")
        super().set_password(service, username, password)


class App:
    """The services of one run of the app, with a server that asks for a sign-in."""

    def __init__(self, services: AppServices, workspace_id: str, server: GuardedServer) -> None:
        self.services = services
        self.id = workspace_id
        self.server = server
        self.servers = services.mcp_servers
        self.addresses: list[str] = []
        self.scope = TaskScope()
        self.pages: list[tuple[int, str]] = []
        """What the browser showed: statuses and texts."""

    async def status(self) -> McpServerStatus:
        await self.servers.wait_until_ready(self.id, 60)
        (status,) = await self.servers.statuses(self.id)
        return status

    def open_browser(self, address: str) -> None:
        self.addresses.append(address)
        self.scope.start(self.visit(address), "browser")

    async def visit(self, *addresses: str) -> None:
        self.pages += [await browse(address) for address in addresses]

    async def sign_in(self, browser: Browser | None = None) -> None:
        await self.servers.sign_in(self.id, "web", browser or self.open_browser)
        await self.servers.wait_until_ready(self.id, 60)

    async def call(self) -> str:
        hub = self.servers._hubs[self.id]
        result = await hub.run(ToolCall("c1", "mcp__web__echo", '{"word": "hello"}'))
        return result.content.decode()


@pytest.fixture
async def server() -> AsyncIterator[GuardedServer]:
    async with serve_guarded() as server:
        yield server


@asynccontextmanager
async def run_app(folder: Path, server: GuardedServer, keychain: MemoryKeychain | None) -> AsyncIterator[App]:
    data = DataDir(folder / "data")
    data.ensure()
    services = AppServices(data, dict(os.environ), FixedApprover("once"))
    if keychain is not None:
        services.secrets = services.mcp_servers._secrets = SecretStore({}, lambda: keychain)
    try:
        record = services.registry.add(folder, trusted=True)
        await services.open_workspace(record.id)
        if not record.servers:
            config = McpServerConfig(name="web", url=f"http://{server.host}/mcp")
            await services.mcp_servers.add(record.id, [ServerDraft(config)])
        app = App(services, record.id, server)
        yield app
        await app.scope.close()
    finally:
        await services.close()


@pytest.fixture
async def app(tmp_path: Path, server: GuardedServer) -> AsyncIterator[App]:
    async with run_app(tmp_path, server, MemoryKeychain()) as app:
        yield app


async def test_a_user_signs_in_once_and_tokens_are_refreshed(tmp_path: Path, server: GuardedServer) -> None:
    authorization = server.authorization
    keychain = MemoryKeychain()
    async with run_app(tmp_path, server, keychain) as app:
        status = await app.status()
        assert (status.state, status.is_signed_in, status.retry_in_s) == ("signed_out", False, 0)
        assert status.why.startswith(f"{server.host} asks for a sign-in. Sign in under Settings")
        (failure,) = app.servers.failures(app.id)
        assert failure.reason == status.why, "what a run without a window prints"
        assert authorization.requests == [], "nothing is asked before the user wants it"
        await app.sign_in()
        assert (await app.status()).state == "ready"
        assert (await app.status()).is_signed_in
        assert await app.call() == '{"word": "hello"}'
        ((code, page),) = app.pages
        assert (code, "You can close this tab" in page, "<script" in page) == (200, True, False)
        query = parse_qs(urlsplit(app.addresses[0]).query)
        assert query["redirect_uri"][0].startswith("http://127.0.0.1:")
        assert query["code_challenge_method"] == ["S256"]
        authorization.tokens.clear()  # the access token ends before its time
        assert await app.call() == '{"word": "hello"}'
        log = (await app.status()).log
    async with run_app(tmp_path, server, keychain) as app:
        assert (await app.status()).state == "ready", "the next run has the refreshed tokens"
        authorization.requests.clear()
        authorization.tokens.clear()
        calls = await asyncio.gather(*(app.call() for _ in range(3)))
        assert calls == ['{"word": "hello"}'] * 3
        assert authorization.requests == ["/token"], "one refresh is for all calls"
        secrets = await app.services.secret_values()
    tokens = {*authorization.tokens, *authorization.refresh_tokens}
    assert tokens <= set(secrets), "what a report must not have"
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert not [token for token in tokens if token.encode() in stored or token in log]


async def test_a_sign_in_is_not_taken_for_an_older_protocol(tmp_path: Path, server: GuardedServer) -> None:
    """The first request says it; the server would refuse the next one as wrong."""
    server.is_newest_only = True
    async with run_app(tmp_path, server, MemoryKeychain()) as app:
        status = await app.status()
        assert (status.state, status.retry_in_s) == ("signed_out", 0), status.why


async def test_a_token_that_lacks_a_scope_asks_for_a_sign_in_with_it(app: App, server: GuardedServer) -> None:
    """It was a refusal like any other, and each later sign-in brought the same token."""
    await app.sign_in()
    server.needed_scope = "files:write"
    with pytest.raises(HelixError, match="asks for a sign-in"):
        await app.call()
    assert (await app.status()).state == "signed_out"
    await app.sign_in()
    assert parse_qs(urlsplit(app.addresses[-1]).query)["scope"] == ["files:write"]
    assert (await app.status()).state == "ready"
    assert await app.call() == '{"word": "hello"}'


@pytest.mark.parametrize(
    ("challenge", "scope"),
    [
        ('Bearer error="insufficient_scope", scope="a b"', "a b"),
        ("bearer error=insufficient_scope", ""),
        ('Bearer realm="x", error="insufficient_scope", resource_metadata="https://h/x"', ""),
        ('Bearer error="invalid_token", scope="a"', None),
        ('Basic realm="insufficient_scope"', None),
        ("", None),
    ],
)
def test_a_refusal_says_which_scope_it_needs(challenge: str, scope: str | None) -> None:
    assert oauth.insufficient_scope(challenge) == scope


async def test_a_token_that_is_taken_back_asks_for_a_sign_in_again(app: App, server: GuardedServer) -> None:
    await app.sign_in()
    server.authorization.tokens.clear()
    server.authorization.token_status = "503 Service Unavailable"
    with pytest.raises(HelixError, match="answered 503"):
        await app.call()
    server.authorization.token_status = ""
    assert await app.call() == '{"word": "hello"}', "the refresh token is still there"
    server.authorization.tokens.clear()
    await app.servers.restart(app.id, "web")
    assert (await app.status()).state == "ready", "a new connection refreshes what it looked up"
    server.authorization.tokens.clear()
    server.authorization.refresh_tokens.clear()
    with pytest.raises(HelixError, match="asks for a sign-in"):
        await app.call()
    status = await app.status()
    assert (status.state, status.is_signed_in) == ("signed_out", False)
    await app.sign_in()
    assert await app.call() == '{"word": "hello"}'
    (token,) = server.authorization.tokens
    server.call_error = {"code": -32000, "message": f"{token} may not do that"}
    with pytest.raises(HelixError) as caught:
        await app.call()
    assert "••• may not do that" in caught.value.what
    assert token not in str(caught.value), "a server that repeats its token gets it into no error"


async def test_tokens_belong_to_one_address_and_end_with_the_server(app: App, server: GuardedServer) -> None:
    await app.sign_in()
    await app.servers.sign_out(app.id, "web")
    assert (await app.status()).state == "signed_out"
    await app.sign_in()
    undo = await app.servers.remove(app.id, "web")
    tokens = {*server.authorization.tokens, *server.authorization.refresh_tokens}
    assert not tokens & set(await app.services.secret_values())
    await undo()
    assert ((await app.status()).state, (await app.status()).is_signed_in) == ("ready", True)
    other = GuardedServer(server.authorization)
    await other.start()
    file = app.servers.create_file(app.id)
    file.write_text(file.read_text().replace(server.host, other.host))
    await app.servers.read(app.id)
    status = await app.status()
    assert (status.state, other.offered) == ("unapproved", [])
    await app.servers.consent(app.id, "web", status.config.fingerprint)
    assert ((await app.status()).state, other.offered) == ("signed_out", [])
    await other.close()
    file.write_text("{}")
    await app.servers.read(app.id)
    assert app.servers.configs(app.id) == ()
    assert await app.servers.unused_secrets(app.id) == {"web": (SIGN_IN_DETAILS,)}
    await app.servers.delete_unused_secrets(app.id)
    assert await app.servers.unused_secrets(app.id) == {}
    assert not tokens & set(await app.services.secret_values())


async def test_a_redirect_to_another_host_does_not_carry_the_token(app: App, server: GuardedServer) -> None:
    await app.sign_in()
    async with serve_guarded() as other:
        server.moved_to = f"http://{other.host}/mcp"
        with pytest.raises(HelixError):
            await app.call()
        assert (other.offered, other.calls) == ([], [])
    assert server.offered


async def test_a_server_that_asks_for_no_sign_in_does_not_open_the_keychain(tmp_path: Path) -> None:
    looked_up: list[str] = []

    async def load_secrets(_: McpServerConfig) -> dict[str, str]:
        return {}

    async def load_sign_in(config: McpServerConfig) -> None:
        looked_up.append(config.name)

    scope = TaskScope()
    server = RawHttpServer()
    await server.start()
    hub = Hub(ServerContext(tmp_path, {}, load_secrets, load_sign_in=load_sign_in), scope.start)
    await hub.set_servers((server.config(),), True)
    await hub.wait_settled(60)
    assert (hub.status(server.config()).state, looked_up) == ("ready", [])
    await hub.close()
    await server.close()


async def test_without_a_keychain_a_sign_in_lasts_for_this_run(tmp_path: Path, server: GuardedServer) -> None:
    async with run_app(tmp_path, server, None) as app:
        await app.sign_in()
        assert (await app.status()).state == "ready"
        assert (await app.servers.secret_storage_text()).startswith("Kept until Helix Desktop closes: ")
    async with run_app(tmp_path, server, None) as app:
        assert (await app.status()).state == "signed_out"


async def test_a_locked_keychain_is_said_when_a_user_signs_out(tmp_path: Path, server: GuardedServer) -> None:
    keychain = LockableKeychain()
    async with run_app(tmp_path, server, keychain) as app:
        await app.sign_in()
        keychain.is_locked = True
        with pytest.raises(HelixError, match="still signed in at web") as caught:
            await app.servers.sign_out(app.id, "web")
        assert caught.value.why == "The keychain couldn't be changed: OSError: locked."
        keychain.is_locked = False
        await app.servers.sign_out(app.id, "web")
        assert (await app.status()).state == "signed_out"
        assert server.authorization.refresh_tokens
        assert not [token for token in server.authorization.refresh_tokens if token in str(keychain.items)]


async def test_a_refused_sign_in_says_why(app: App, server: GuardedServer) -> None:
    answers: dict[str, dict[str, str]] = {
        "Access was denied in the browser. Sign in again to allow it.": {"error": "access_denied"},
        "in the browser. Too busy. Sign in": {"error": "server_error", "error_description": "Too\nbusy"},
        "didn't return a token. Token exchange failed (400). Sign in again.": {"code": "made up"},
        "iss mismatch: https://evil.example": {"code": "x", "iss": "https://evil.example"},
    }
    for expected, server.authorization.consent in answers.items():
        with pytest.raises(HelixError) as caught:
            await app.sign_in()
        assert expected in error_text(caught.value)
        assert (await app.status()).is_signed_in is False


async def test_a_broken_registration_shows_no_secret_of_it(app: App, server: GuardedServer) -> None:
    server.authorization.registered = {"client_secret": "s3cret"}
    with pytest.raises(HelixError, match="doesn't let Helix Desktop sign in") as caught:
        await app.sign_in()
    assert "client_id Field required." in " ".join(str(caught.value).split())
    assert "s3cret" not in str(caught.value)


async def test_an_answer_that_is_not_for_this_sign_in_changes_nothing(app: App) -> None:
    def open_browser(address: str) -> None:
        query = parse_qs(urlsplit(address).query)
        back = query["redirect_uri"][0]
        state = query["state"][0]
        wrong = (f"{back}?code=x&state=wrong", f"{back}?code=x", f"{back}x?code=x&state={state}")
        app.scope.start(app.visit(*wrong, address), "browser")

    await app.sign_in(open_browser)
    assert [code for code, _ in app.pages] == [400, 400, 400, 200]
    assert (await app.status()).state == "ready"


async def test_a_sign_in_ends_when_it_is_canceled_or_nobody_answers(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = asyncio.Event()

    def open_browser(address: str) -> None:
        app.addresses.append(address)
        opened.set()

    waiting = app.scope.start(app.sign_in(open_browser), "sign-in")
    await opened.wait()
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting
    with pytest.raises(httpx2.ConnectError):
        await browse(parse_qs(urlsplit(app.addresses[0]).query)["redirect_uri"][0])
    monkeypatch.setattr(oauth, "BROWSER_TIMEOUT_S", 0.0)
    with pytest.raises(HelixError, match="The browser didn't answer within"):
        await app.sign_in(lambda _: None)


async def test_a_server_leads_a_sign_in_nowhere_else(app: App, server: GuardedServer) -> None:
    metadata: dict[str, dict[str, object]] = {
        "It doesn't support PKCE with S256.": {"code_challenge_methods_supported": ["plain"]},
        "The connection wouldn't be encrypted.": {"authorization_endpoint": "http://192.0.2.7/authorize"},
        "more private network than the server itself": {"token_endpoint": "http://169.254.169.254/token"},
        "doesn't say where to sign in": {"registration_endpoint": "ftp://files.example/register"},
        "issuer mismatch": {"issuer": "https://other.example"},
    }
    for expected, server.authorization.metadata in metadata.items():
        with pytest.raises(HelixError) as caught:
            await app.sign_in()
        assert expected in error_text(caught.value)


@pytest.mark.parametrize(
    ("target", "server", "is_allowed"),
    [
        ("https://192.0.2.1/x", "https://192.0.2.2/mcp", True),
        ("https://93.184.215.14/x", "https://10.0.0.1/mcp", True),
        ("https://10.0.0.2/x", "https://10.0.0.1/mcp", True),
        ("https://10.0.0.2/x", "https://93.184.215.14/mcp", False),
        ("https://127.0.0.1/x", "https://93.184.215.14/mcp", False),
        ("https://127.0.0.1/x", "https://10.0.0.1/mcp", False),
        ("https://169.254.169.254/x", "http://127.0.0.1/mcp", False),
        ("https://[fe80::1]/x", "http://127.0.0.1/mcp", False),
        ("https://[::ffff:127.0.0.1]/x", "https://93.184.215.14/mcp", False),
        ("http://127.0.0.1:9/x", "http://127.0.0.1/mcp", True),
        ("http://2130706433/x", "https://93.184.215.14/mcp", False),
        ("http://93.184.215.14/x", "https://93.184.215.14/mcp", False),
        ("https://user@93.184.215.15/x", "https://93.184.215.14/mcp", False),
        ("https://93.184.215.15/x#y", "https://93.184.215.14/mcp", False),
        ("file:///etc/passwd", "http://127.0.0.1/mcp", False),
        ("javascript:alert(1)", "http://127.0.0.1/mcp", False),
        ("https://93.184.215.15/@tenant/x", "https://93.184.215.14/mcp", True),
    ],
)
async def test_a_server_may_name_no_address_nearer_than_its_own(
    target: str, server: str, is_allowed: bool
) -> None:
    if is_allowed:
        await oauth.check_target(target, server)
    else:
        with pytest.raises(HelixError, match="sends the sign-in to"):
            await oauth.check_target(target, server)
