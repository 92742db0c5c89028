"""A workspace's record: its identity, its folder, and what it may do without asking."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.domain.effort import Effort
from helix_desktop.domain.file_history.file_coverage import MAX_FILE, QUOTA
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.saved_filter import SavedFilter
from helix_desktop.domain.tools import PermissionRule

Grant = Literal["sandbox", "network", "fetch"]
"""What the user grants a workspace's agent: see the fields of these names."""

DemoCalls = Literal["ask", "once", "allow"]
"""How calls of the demo model in a sample's copy are approved: ask for each, for the first, or for none."""

MAIN = "main"
"""Value of a role's model: use the main model, regardless of the app's choice."""


MODEL_ROLES = ("model", "fast", "summary", "long")
"""The fields that name models: the main one, and those of the roles; the settings have them too."""


class WorkspaceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One workspace. Its identity is the UUID; the path is only where its folder was last found.

    `model` is PROVIDER/NAME (empty: the app's default); `listed` is false once it was removed from the list,
    which keeps its data. `added` is in milliseconds since 1970. `demo` marks the guided demo's own copy.
    `trusted` says that the user trusts the folder's content: until then nothing runs and nothing is sent.
    `sandbox` confines commands where the system can, `network` lets them use the network nevertheless, and
    `fetch` gives the agent a tool for web pages.
    `quota` (bytes on disk) and `unused_ms` clean up its cache whenever it is opened; 0: they do not.
    `fast`, `summary` and `long` name models for roles, as `model` does: empty is the app's choice, MAIN the
    main model. `servers` are its MCP servers, each with the fingerprint that the user consented to.
    `demo_calls` says what happens to calls of the offline demo model in a sample, not of other models: it
    asks, it asks and each card offers to allow all at once, or they run.
    `share_port` is where its cache is served to other programs while the app runs; 0: it is not.
    `effort` is how much the main model thinks here; empty: as is set for the model.
    `history_included` are places whose former versions are stored though they would be left out,
    `history_max_file` (bytes) is the largest file that is, `history_quota` (bytes on disk) what all may take.
    While `history_paused` the first copy of its files waits.
    `cache_filters` are the filters of the cache browser that the user named.
    """

    id: str
    path: str
    name: str
    added: int = 0
    listed: bool = True
    model: str = ""
    session: str = ""
    demo: bool = False
    rules: tuple[PermissionRule, ...] = ()
    quota: int = 0
    unused_ms: int = 0
    trusted: bool = True  # records older than the field had everything running
    sandbox: bool = True
    network: bool = False
    fetch: bool = False
    servers: tuple[McpServerConfig, ...] = ()
    share_port: int = 0
    fast: str = ""
    summary: str = ""
    long: str = ""
    demo_calls: DemoCalls = "ask"
    effort: Effort = ""
    history_included: tuple[str, ...] = ()
    history_max_file: int = MAX_FILE
    history_quota: int = QUOTA
    history_paused: bool = False
    cache_filters: tuple[SavedFilter, ...] = ()

    @property
    def servers_awaiting_consent(self) -> tuple[str, ...]:
        """The MCP servers that start once the user consents, by name; none in an untrusted folder."""
        waiting = (server.name for server in self.servers if server.enabled and not server.is_consented)
        return tuple(waiting) if self.trusted else ()
