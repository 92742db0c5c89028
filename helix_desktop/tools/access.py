"""The access that a workspace's tools have beyond its files: sandboxed commands and the web."""

from __future__ import annotations

from dataclasses import dataclass, field

from helix_desktop.tools.grants import CurrentGrants, ToolGrants
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider, no_sandbox_provider
from helix_desktop.tools.web.fetch_url import Fetcher, Resolve


@dataclass(frozen=True)
class ToolAccess:
    """The sandbox, the current grants, and the fetcher of web pages; without `web` there is no fetch tool."""

    sandbox_provider: SandboxProvider = field(default_factory=no_sandbox_provider)
    current_grants: CurrentGrants = ToolGrants
    web: tuple[Fetcher, Resolve] | None = None
