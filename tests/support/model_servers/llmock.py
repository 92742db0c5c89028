"""llmock from PyPI: a server of ten providers' formats that fails on demand and grades its client."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.peer_processes import PEERS, run_peer

Behavior = Mapping[str, Any]


@dataclass(frozen=True)
class LlMock:
    """A running llmock; its control calls are made from the calling thread and answer at once."""

    address: str
    pid: int

    def expect(self, *behaviors: Behavior) -> None:
        """Let the next requests meet these behaviors, in order."""
        self._call("POST", "scenario", {"behaviors": behaviors})

    def requests(self) -> list[dict[str, Any]]:
        """Return the requests, oldest first, with time, fault and body."""
        requests: list[dict[str, Any]] = self._call("GET", "requests")["requests"]
        return requests

    def verdict(self) -> dict[str, Any]:
        """How it grades the client since the last `forget`."""
        verdict: dict[str, Any] = self._call("GET", "verdict")
        return verdict

    def clear_pending_behaviors(self) -> None:
        """Drop the behaviors that still wait."""
        self._call("DELETE", "scenario")

    def reset(self) -> None:
        """Forget requests and behaviors."""
        self._call("POST", "reset")

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.address}/_llmock/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{method} {path}: {error} {error.read().decode()}") from error


@contextmanager
def run_llmock(folder: Path, *flags: str) -> Iterator[LlMock]:
    """A running llmock; its output is in `folder`."""
    serve = [str(PEERS.python), "-m", "llmock.cli", "serve", "--port", "0", *flags]
    with run_peer(serve, folder / "llmock.log", cwd=folder) as running:
        yield LlMock(running.address, running.pid)
