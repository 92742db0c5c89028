"""The network: proxies, certificates and the message for each problem, compression, lazy imports."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import zstandard

from helix_desktop.domain.errors import ModelRequestRejected, ModelUnreachable
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient, HttpError, is_loopback
from helix_desktop.providers.model_list import list_models
from tests.support.local_site import http_response, serve_site
from tests.support.model_servers.chat_server import ChatServer, text_reply
from tests.support.tables import for_each


@for_each(
    ("url", "loopback"),
    [
        ("http://localhost:11434/v1", True),
        ("http://app.localhost/v1", True),
        ("http://127.0.0.1:8080", True),
        ("http://127.1.2.3", True),
        ("http://[::1]:8080/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://192.168.1.4:8080", False),
        ("http://localhost.example.com", False),
        ("http://[::1", False),
        ("", False),
    ],
)
def test_addresses_of_this_machine_are_recognized(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback


async def test_the_systems_proxy_is_used_but_never_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    http = HttpClient()
    async with (
        ChatServer(lambda _: text_reply("ok")) as proxy,
        ChatServer(lambda _: text_reply("ok")) as server,
    ):
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.base_url.removesuffix("/v1"))
        assert tuple(await list_models(Endpoint("here", server.base_url, "", http))) == ("large", "small")
        assert proxy.requests == []
        with pytest.raises(ModelRequestRejected):
            await list_models(Endpoint("away", "http://model.test/v1", "", http))
        assert proxy.requests[0].path == "http://model.test/v1/models"
        await http.aclose()


async def test_hosts_excluded_from_the_system_proxy_are_reached_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda _host, *rest, **more: resolve("127.0.0.1", *rest, **more)
    )
    hosts: list[str] = []

    def bypass(host: str) -> bool:
        hosts.append(host)
        return True

    http = HttpClient(bypasses_proxy=bypass)
    async with (
        ChatServer(lambda _: text_reply("ok")) as proxy,
        ChatServer(lambda _: text_reply("ok")) as server,
    ):
        monkeypatch.setenv("HTTP_PROXY", proxy.base_url.removesuffix("/v1"))
        at = server.base_url.replace("127.0.0.1", "model.test")
        for _ in range(2):
            assert tuple(await list_models(Endpoint("away", at, "", http))) == ("large", "small")
        assert proxy.requests == []
    assert hosts == ["model.test"]
    await http.aclose()


async def test_an_unreachable_proxy_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://mara:secret@127.0.0.1:1")
    http = HttpClient()
    with pytest.raises(ModelUnreachable, match=r"through the system's proxy 127\.0\.0\.1:1") as caught:
        await list_models(Endpoint("away", "http://model.invalid/v1", "", http))
    assert "secret" not in str(caught.value)
    assert "proxy" in caught.value.fix
    await http.aclose()


async def test_unusable_proxy_settings_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://nowhere")
    http = HttpClient()
    with pytest.raises(ModelUnreachable, match="proxy settings"):
        await list_models(Endpoint("away", "http://model.test/v1", "", http))
    async with ChatServer(lambda _: text_reply("ok")) as server:
        assert await list_models(Endpoint("here", server.base_url, "", http))
    await http.aclose()


async def test_https_to_a_plain_http_server_is_explained() -> None:
    async def plain(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    http = HttpClient()
    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ModelUnreachable, match="http:// or https://"):
            await list_models(Endpoint("here", f"https://127.0.0.1:{port}/v1", "", http))
    await http.aclose()


def test_heavy_modules_are_imported_lazily() -> None:
    """The types of MCP alone were a quarter of the time to import what the window needs."""
    heavy = (
        "httpx",
        "httpcore",
        "certifi",
        "truststore",
        "tiktoken",
        "keyring",
        "anyio",
        "mcp_types",
        "pydantic",
    )
    code = (
        "import sys, helix_desktop.providers.openai_chat, helix_desktop.providers.tiktoken_counter\n"
        "import helix_desktop.config.secrets, helix_desktop.services.app_services\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def _raw_deflate(data: bytes) -> bytes:
    deflater = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return deflater.compress(data) + deflater.flush()


async def _body(reply: bytes) -> str:
    http = HttpClient()
    try:
        async with (
            serve_site({"/": reply}) as site,
            http.send("GET", f"http://127.0.0.1:{site.port}/") as response,
        ):
            return await response.text()
    finally:
        await http.aclose()
        for _ in range(10):  # the client library's generators close one another, a round of the loop each
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", _raw_deflate),
    ],
)
async def test_a_small_compressed_body_is_read_in_bounded_memory(
    encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    header = f"Content-Encoding: {encoding}\r\n"
    for words in ("", "grüß " * 50_000):
        assert await _body(http_response(pack(words.encode()), extra_headers=header)) == words
    flood = http_response(pack(bytes(100_000_000)), extra_headers=header)
    tracemalloc.start()
    try:
        assert len(await _body(flood)) == 1024 * 1024
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["zstd", "br", "gzip, gzip", "gzip,deflate", "gzip"])
async def test_a_compression_that_was_not_requested_is_refused(encoding: str) -> None:
    packed = zstandard.compress(bytes(100_000_000))
    assert len(packed) < 65_536
    with pytest.raises(HttpError) as refused:
        await _body(http_response(packed, extra_headers=f"Content-Encoding: {encoding}\r\n"))
    assert "can't be unpacked" in str(refused.value.why)
    assert "Check the base URL" in str(refused.value.fix)


TLS = Path(__file__).parents[2] / "golden" / "tls"
_LIST = b'{"object": "list", "data": [{"id": "small"}]}'


@asynccontextmanager
async def tls_server(certificate: str) -> AsyncIterator[int]:
    """A server on this machine that shows a certificate; its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(_LIST)}\r\n\r\n"
        writer.write(head.encode() + _LIST)
        await writer.drain()
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / f"{certificate}.pem", TLS / "key.pem")
    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


async def test_an_authority_in_the_system_s_trust_store_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "authority.pem"))
    http = HttpClient()
    async with tls_server("good") as port:
        assert tuple(await list_models(Endpoint("here", f"https://127.0.0.1:{port}/v1", "", http))) == (
            "small",
        )
        async with http.send("GET", f"https://localhost:{port}/v1/models") as reply:
            assert reply.tls.startswith("TLSv1.")
    await http.aclose()


@pytest.mark.parametrize(
    ("certificate", "why", "fix"),
    [
        ("expired", "isn't valid now", "clock"),
        ("other-name", "isn't for 127.0.0.1", "the name that the certificate is for"),
        ("self-signed", "isn't trusted by this system", "system's trust store"),
    ],
)
async def test_an_untrusted_certificate_is_named(
    certificate: str, why: str, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "authority.pem"))
    http = HttpClient()
    async with tls_server(certificate) as port:
        with pytest.raises(ModelUnreachable, match=why) as caught:
            await list_models(Endpoint("here", f"https://127.0.0.1:{port}/v1", "", http))
    assert fix in caught.value.fix
    await http.aclose()


async def test_an_authority_that_the_system_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    http = HttpClient()
    async with tls_server("good") as port:
        with pytest.raises(ModelUnreachable, match="isn't trusted by this system"):
            await list_models(Endpoint("here", f"https://127.0.0.1:{port}/v1", "", http))
    await http.aclose()
