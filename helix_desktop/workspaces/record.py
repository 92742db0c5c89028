"""A workspace's record: who it is, where its folder lies, what it may do unasked."""

from __future__ import annotations

import msgspec

from helix_desktop.context.mcp_server import ServerEntry
from helix_desktop.context.tool import Rule


class WorkspaceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One workspace. Its identity is the UUID; the path is only where its folder was last seen.

    `model` is PROVIDER/NAME (empty: the app's default); `listed` is false once it was removed from the list,
    which keeps its data. `added` is in milliseconds since 1970. `demo` marks the guided demo's own copy.
    `quota` (bytes on disk) and `unused_ms` clean up its cache whenever it is opened; 0: they do not.
    `servers` are its MCP servers, each with the fingerprint that the person agreed to.
    """

    id: str
    path: str
    name: str
    added: int = 0
    listed: bool = True
    model: str = ""
    session: str = ""
    demo: bool = False
    rules: tuple[Rule, ...] = ()
    quota: int = 0
    unused_ms: int = 0
    servers: tuple[ServerEntry, ...] = ()
