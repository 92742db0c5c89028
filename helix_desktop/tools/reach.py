"""How far the tools of a workspace reach beyond its files: commands and what holds them back, and the web."""

from __future__ import annotations

from dataclasses import dataclass, field

from helix_desktop.tools.fetch import Fetcher, Resolve
from helix_desktop.tools.grants import Granted, Grants
from helix_desktop.tools.sandboxes import Sandboxes, no_sandboxes


@dataclass(frozen=True)
class Reach:
    """`granted` says what holds now; `web` is what pages are fetched with, without it no tool fetches."""

    sandboxes: Sandboxes = field(default_factory=no_sandboxes)
    granted: Granted = Grants
    web: tuple[Fetcher, Resolve] | None = None
