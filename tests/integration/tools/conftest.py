"""Workspaces whose commands run in a sandbox."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sandbox_rig import SANDBOXES, SandboxRig, outside_tmp


@pytest.fixture
def home() -> Iterator[Path]:
    """A user's home with secrets; outside `/tmp`, which no command sees."""
    path = Path(tempfile.mkdtemp(prefix=".helix-test-", dir=outside_tmp()))
    for name in (".ssh/id_ed25519", ".netrc", "data/settings.toml", "notes.txt", "work/a.txt"):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(f"in {name}\n")
    yield path
    shutil.rmtree(path)


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox_rig(request: pytest.FixtureRequest, home: Path) -> SandboxRig:
    """A workspace whose commands run in one kind of sandbox."""
    sandbox = SANDBOXES[request.param]
    if sandbox is None:
        pytest.skip(f"{request.param} does not work here")
    return SandboxRig(home, sandbox)


@pytest.fixture
def bubblewrap_rig(home: Path) -> SandboxRig:
    """A workspace whose commands run in bubblewrap."""
    sandbox = SANDBOXES["bubblewrap"]
    if sandbox is None:
        pytest.skip("bubblewrap does not work here")
    return SandboxRig(home, sandbox)
