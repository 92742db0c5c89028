"""A handwritten MCP server of the 2025-06-18 protocol at a URL, with sessions: tests make it misbehave."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from helix_desktop.domain.mcp_server import McpServerConfig
from tests.support.mcp.mcp_rig import approved_server

Answer = tuple[str, str, bytes]
"""A status, a content type and a body."""


class RawHttpServer:
    """Answers messages with JSON; `answer`, where a test sets it, is given to everything."""

    def __init__(self) -> None:
        self.port = 0
        self.description = "Does echo."
        self.calls: list[dict[str, Any]] = []
        self.answer: Answer | None = None
        self.call_error: dict[str, Any] | None = None
        self.is_silent = False
        self.missing_session: Answer = ("404 Not Found", "text/plain", b"Session not found")
        self.refused_calls = 0
        self.first_refusal: asyncio.Event | None = None
        """Where a test sets it, the first call in a forgotten session is refused only after that."""
        self.reply_refusal: Answer | None = None
        """Where a test sets it, the server asks for the roots in its opening, and refuses the reply so."""
        self._reply_refused = asyncio.Event()
        self._sessions: set[str] = set()
        self._session_count = 0
        self._server: asyncio.Server | None = None

    @property
    def session_count(self) -> int:
        """How many sessions were opened so far."""
        return self._session_count

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def config(self) -> McpServerConfig:
        return approved_server("web", command="", args=(), url=f"http://{self.host}/mcp")

    async def start(self) -> None:
        """Listen on a free port of loopback."""
        self._server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def forget_sessions(self) -> None:
        self._sessions.clear()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, and close the connection."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):  # a call was canceled
            await self._answer_request(reader, writer)
        writer.close()

    async def _answer_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(1)
        if first in (b"", b"\x16"):  # nothing, or the beginning of TLS
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode().lower()
        headers = dict(line.split(": ", 1) for line in head.splitlines()[1:] if ": " in line)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if self.is_silent:
            await reader.read()  # until the client gives up
            return
        if refusal := self.refusal(head):
            writer.write(refusal)
            await writer.drain()
            return
        session = ""
        status = "405 Method Not Allowed"
        media = "text/plain"
        content = b""
        if self.answer is not None:
            status, media, content = self.answer
        elif self.reply_refusal is not None and body and "method" not in json.loads(body):
            status, media, content = self.reply_refusal
        elif head.startswith("post"):
            message = json.loads(body)
            if message["method"] == "initialize":
                self._session_count += 1
                session = f"s{self._session_count}"
                self._sessions.add(session)
            is_known = session or headers.get("mcp-session-id") in self._sessions
            if not is_known and message["method"] == "tools/call":
                self.refused_calls += 1
                if self.refused_calls == 1 and self.first_refusal is not None:
                    await self.first_refusal.wait()
            status, media, content = self._reply(message) if is_known else self.missing_session
            if session and self.reply_refusal is not None:
                question = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}).encode()
                media = "text/event-stream"
                content = b"data: %b\n\ndata: %b\n\n" % (question, content)
            if message["method"] == "tools/list" and self.reply_refusal is not None:
                await self._reply_refused.wait()
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {media}", f"Content-Length: {len(content)}"]
        lines += [f"Mcp-Session-Id: {session}"] if session else []
        writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode() + content)
        await writer.drain()
        if body and "method" not in json.loads(body):
            self._reply_refused.set()

    def refusal(self, head: str) -> bytes | None:
        """Return the whole response to a request that is not for the protocol; None for all others."""

    def _reply(self, message: dict[str, Any]) -> Answer:
        if "id" not in message:
            return "202 Accepted", "text/plain", b""
        result: dict[str, Any] = {}
        match message["method"]:
            case "initialize":
                info = {"name": "web", "version": "0"}
                result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                schema = {"type": "object"}
                tool = {"name": "echo", "description": self.description, "inputSchema": schema}
                result = {"tools": [tool]}
            case "tools/call":
                arguments = message["params"]["arguments"]
                self.calls.append(arguments)
                text = "x" * int(arguments.get("size", 0)) or json.dumps(arguments)
                result = {"content": [{"type": "text", "text": text}]}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        if message["method"] == "tools/call" and self.call_error is not None:
            answer = {"jsonrpc": "2.0", "id": message["id"], "error": self.call_error}
        return "200 OK", "application/json", json.dumps(answer).encode()
