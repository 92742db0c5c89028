"""aimock from npm: a server that plays script files and keeps a journal of its requests."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.peer_processes import PEERS, run_peer

PACKAGE = "@copilotkit/aimock"


@dataclass(frozen=True)
class AiMock:
    address: str
    pid: int

    def journal(self) -> list[dict[str, Any]]:
        """The requests it got, oldest first, as it read them."""
        entries: list[dict[str, Any]] = self._call("GET", "journal")
        return [entry for entry in entries if entry["method"] == "POST"]

    def _call(self, method: str, path: str) -> Any:
        request = urllib.request.Request(f"{self.address}/__aimock/{path}", method=method)
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)


@contextmanager
def run_aimock(folder: Path, script: Sequence[Mapping[str, Any]]) -> Iterator[AiMock]:
    """A running aimock with this script; its output is in `folder`."""
    fixtures = folder / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": script}), encoding="utf-8")
    program = PEERS.node / "node_modules" / PACKAGE / "dist" / "cli.js"
    serve = ["node", str(program), "-p", "0", "-f", str(fixtures), "--strict", "--validate-on-load"]
    with run_peer(serve, folder / "aimock.log", cwd=folder) as running:
        yield AiMock(running.address, running.pid)
