"""How far the tools of a workspace reach beyond its files: commands and what holds them back, and the web."""

from __future__ import annotations

from dataclasses import dataclass, field

from helix_desktop.tools.grants import CurrentGrants, ToolGrants
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider, no_sandbox_provider
from helix_desktop.tools.web.fetch_url import Fetcher, Resolve


@dataclass(frozen=True)
class ToolAccess:
    """`granted` says what holds now; `web` is what pages are fetched with, without it no tool fetches."""

    sandbox_provider: SandboxProvider = field(default_factory=no_sandbox_provider)
    current_grants: CurrentGrants = ToolGrants
    web: tuple[Fetcher, Resolve] | None = None
