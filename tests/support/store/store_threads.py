"""The threads of the stores that this process has open."""

from __future__ import annotations

import threading


def store_threads() -> set[threading.Thread]:
    """Return the threads of all open stores: compare with those before, a failed test may leave its own."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("helix-store")}
