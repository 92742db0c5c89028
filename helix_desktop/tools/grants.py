"""What a workspace lets its agent's tools do beyond its files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ToolGrants:
    """`sandbox`: commands run in one where the system has any; `network`: they may use the network from it.

    `fetch`: there is a tool that fetches web pages, each host asked for.
    """

    sandbox: bool = True
    network: bool = False
    fetch: bool = False


CurrentGrants = Callable[[], ToolGrants]
"""What holds now: the person may change it at any time."""
