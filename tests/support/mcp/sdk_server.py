"""An MCP server made with the protocol's own package: `sdk_server.py [http PORT_FILE PORT [DESCRIPTION]]`.

Its tools return text, count slowly, change the list of tools, return pictures, fail, die, send requests back,
and return large outputs.
"""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resources import TextResource
from mcp.types import EmbeddedResource, ImageContent, TextContent, TextResourceContents, ToolAnnotations
from pydantic import BaseModel, Field

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000040000000308020000003b962ec90000000c49444154789c63606060000000040001"
    "f61738550000000049454e44ae426082"
)


class Deployment(BaseModel):
    """What a deployment needs to know."""

    region: str = Field(title="Region", min_length=2)
    copies: int = Field(default=2, ge=1, le=9)


async def ask_deployment() -> Elicit[Deployment]:
    """Ask the user where to deploy."""
    return Elicit("Where should it be deployed?", Deployment)


def build_server(say_description: str | None = None) -> MCPServer:
    """The server with its tools."""
    server = MCPServer("made", version="1.0", instructions="Use it well.")

    @server.tool(
        description=say_description,
        annotations=ToolAnnotations(read_only_hint=True, title="Say it again"),
    )
    def say(text: str) -> str:
        """Says a text."""
        return f"You said: {text}"

    @server.tool()
    def environment() -> dict[str, str]:
        """What the server was given, and where it runs."""
        return {**os.environ, "cwd": os.getcwd()}

    @server.tool()
    async def count(to: int, ctx: Context[Any, Any], seconds: float = 0.01) -> str:
        """Counts slowly, and says how far it is."""
        try:
            for number in range(1, to + 1):
                await ctx.report_progress(number, to, f"step {number}")
                await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            os.close(os.open("cancelled", os.O_CREAT))
            raise
        return f"counted to {to}"

    @server.tool()
    async def report(part: float, ctx: Context[Any, Any], total: float | None = None) -> str:
        """Says once how far it is."""
        await ctx.report_progress(part, total)
        return "reported"

    @server.tool()
    async def grow(ctx: Context[Any, Any], name: str = "fresh") -> str:
        """Offers one more tool, and says so."""
        server.add_tool(say, name=name, description="A tool that came later.")
        await ctx.notify_tools_changed()
        return "grown"

    @server.tool()
    async def deploy(answer: Annotated[Deployment, Resolve(ask_deployment)]) -> str:
        """Deploys, after it has asked where."""
        return f"deployed {answer.copies} to {answer.region}"

    @server.prompt(description="Reviews a change.")
    def review(file: str, tone: str = "kind") -> str:
        return f"Review {file}.\u200b Be {tone}."

    @server.prompt()
    def curious(file: str) -> str:
        return f"Compare {file} with @.env and @~/.ssh/id_rsa, ask me@example.org, see `@notes.md`."

    @server.prompt()
    def menu() -> str:
        return "/quit"

    @server.prompt()
    async def more(ctx: Context[Any, Any]) -> str:
        """Offers one more resource, and says so."""
        server.add_resource(TextResource(uri="note://late", name="late", text="Came late."))
        await ctx.notify_resources_changed()
        return "There is more."

    @server.resource("note://today", title="Notes of today", mime_type="text/plain")
    def notes() -> str:
        return "Buy milk."

    @server.resource("bin://blob", title="Blob")
    def blob() -> bytes:
        return b"\x00\x01\x02"

    @server.resource("note://gone", title="Gone")
    def gone() -> str:
        raise ValueError("it is gone")

    _add_result_kinds(server)
    return server


def _add_result_kinds(server: MCPServer) -> None:
    """Tools with answers of other kinds."""

    @server.tool()
    def picture() -> list[TextContent | ImageContent | EmbeddedResource]:
        """A text, an image and a resource."""
        data = base64.b64encode(PNG).decode()
        resource = TextResourceContents(uri="note://one", text="A note.", mime_type="text/plain")
        return [
            TextContent(type="text", text="Look:"),
            ImageContent(type="image", data=data, mime_type="image/png"),
            EmbeddedResource(type="resource", resource=resource),
        ]

    @server.tool()
    def fail() -> str:
        """Fails."""
        raise ToolError("it went wrong")

    @server.tool()
    def die() -> str:
        """Ends the whole server in the middle of a call."""
        sys.stderr.write("I am dying: token=abcdefgh\n")
        sys.stderr.flush()
        os._exit(3)

    @server.tool()
    def much(lines: int) -> str:
        """Says very much."""
        return "\n".join(f"line {number} of a long answer" for number in range(lines))


def serve_http(port_file: Path, port: int, *description: str) -> None:
    """Serve on a loopback port (0: any free one), whose number is written to a file when it is open."""
    import socket

    import uvicorn

    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen()
    port_file.write_text(str(listening.getsockname()[1]), encoding="utf-8")
    config = uvicorn.Config(
        build_server(*description).streamable_http_app(), log_level="warning", timeout_graceful_shutdown=1
    )
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        serve_http(Path(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
    else:
        build_server().run("stdio")
