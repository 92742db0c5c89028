"""A workspace's cache in memory, and a toolbox on a folder, for tests of tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import Commit, Content, ContentReader
from helix_desktop.domain.text_format import first_line
from helix_desktop.domain.tools import ApprovalRequest
from helix_desktop.store.memory import MemoryStore
from helix_desktop.tools.tool import ToolRegistry
from helix_desktop.tools.workspace_tools import ToolSetup, create_workspace_tools

DESCRIPTIONS_DIR = Path(__file__).parents[2] / "resources" / "prompts" / "tools"


class MemoryCache(MemoryStore):
    """A store in memory whose clock stands still, to put contents in that no session made."""

    def __init__(self) -> None:
        super().__init__(lambda: 1)

    async def put(self, data: bytes, tool: str = "read_file", target: str = "a.txt") -> str:
        """Store bytes; return their digest."""
        line = first_line(data.decode(errors="replace"))
        content = Content(digest_of(data), data, tool, target, line, len(data) // 4)
        await self.commit(Commit("s", contents=[content]))
        return content.digest


async def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """Four characters to a token, rounded up."""
    return [-(-len(text) // 4) for text in texts]


def make_tools(root: Path, cache: ContentReader | None = None, **options: Any) -> ToolRegistry:
    """Return the real tools on a folder, with the shipped descriptions; `options` are those of ToolSetup."""
    setup = ToolSetup(DESCRIPTIONS_DIR, estimate_tokens, **options)
    return create_workspace_tools(root, cache or MemoryCache(), setup)


async def request_for(tools: ToolRegistry, call: ToolCall) -> ApprovalRequest:
    """Return what the user is asked before a call."""
    request = await tools.approval(call)
    assert isinstance(request, ApprovalRequest)
    return request


async def text_of(root: Path, name: str, **arguments: object) -> str:
    """Return the output of a tool on a folder."""
    return (await make_tools(root).run(make_call(name, **arguments))).content.decode()


def make_call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"call-{name}", name, json.dumps(arguments))
