"""The grants of a workspace: what its tools may do beyond its files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ToolGrants:
    """What tools may do: `sandbox`: commands run in a sandbox if the system has one; `network`: with network.

    `fetch`: there is a tool that fetches web pages; each host needs approval.
    """

    sandbox: bool = True
    network: bool = False
    fetch: bool = False


CurrentGrants = Callable[[], ToolGrants]
"""Returns the grants that hold now: the user may change them at any time."""
