"""Certificates of real TLS servers, judged by the system's trust store, and the message for each problem."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from helix_desktop.domain.errors import ModelUnreachable
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.model_list import list_models

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
