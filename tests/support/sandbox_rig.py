"""A workspace in a home of its own whose commands run in a sandbox that works here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from helix_desktop.domain.tools import AllowedCall, ApprovalRequest, ToolResult
from helix_desktop.permissions.reading_programs import DEFAULT_LINES
from helix_desktop.tools.shell.sandbox_bubblewrap import find_bwrap
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from helix_desktop.tools.shell.sandbox_landlock import find_landlock
from helix_desktop.tools.shell.sandbox_scope import Sandbox
from helix_desktop.tools.tool import ToolGrants, ToolRegistry
from tests.support.tool_rig import make_call, make_tools, request_for

HOME = Path.home()  # the user's: a test has another one
SANDBOXES = {"bubblewrap": find_bwrap(), "landlock": find_landlock()}


def outside_tmp() -> Path:
    """A folder that can be written and does not lie in `/tmp`, as a home may that was made for one run."""
    for folder in (HOME, Path(__file__).parents[3], Path("/opt"), Path("/srv")):
        real = Path(os.path.realpath(folder))
        if not real.is_relative_to("/tmp") and os.access(real, os.W_OK):
            return real
    pytest.skip("no folder outside /tmp can be written")


class SandboxRig:
    """A workspace in a home, its tools, and one sandbox to run commands in."""

    def __init__(self, home: Path, sandbox: Sandbox) -> None:
        self.home = home
        self.root = home / "work"
        self.sandbox = sandbox
        self.grants = ToolGrants()
        self.sandboxes = SandboxProvider(lambda: sandbox, home, (home / "data",))
        self.reading_lines: Sequence[str] = DEFAULT_LINES
        self.box = self.tools(self.root)

    def tools(self, root: Path) -> ToolRegistry:
        environ = {**os.environ, "HOME": str(self.home)}
        return make_tools(
            root,
            sandbox_provider=self.sandboxes,
            current_grants=lambda: self.grants,
            environ=environ,
            reading_lines=lambda: self.reading_lines,
        )

    async def run(self, command: str, **more: object) -> ToolResult:
        return await self.box.run(make_call("run_command", command=command, **more))

    async def asks(self, command: str, **more: object) -> ApprovalRequest:
        return await request_for(self.box, make_call("run_command", command=command, **more))

    async def read(self, command: str, **more: object) -> ToolResult:
        call = make_call("run_command", command=command, **more)
        return await self.box.run(AllowedCall(call.id, call.name, call.arguments, is_reading=True))

    async def text(self, command: str, **more: object) -> str:
        """Return a command's output below the first line."""
        return (await self.run(command, **more)).content.decode().partition("\n")[2]


def write_file(home: Path, name: str, text: str) -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
