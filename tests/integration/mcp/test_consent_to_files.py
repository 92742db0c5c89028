"""Consent to the files that an approved server runs of its workspace: real services, commands and servers."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.mcp_config import McpServerStatus, ServerDraft
from tests.support.mcp.mcp_rig import SCRIPTS_DIR
from tests.support.model_servers.chat_server import Call, ChatServer, StreamedReply, text_reply
from tests.support.workspace_away import HOW_AWAY, HowAway, away

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and shell commands")
PYTHON = os.path.realpath(sys.executable)
MAIN = (
    "import os, runpy\nimport helper\n"
    "folder = os.path.dirname(os.path.realpath(__file__))\n"
    "runpy.run_path(os.path.join(folder, 'raw.py'), run_name='__main__')\n"
)
_START_S = 60.0


def script(request: dict[str, Any]) -> StreamedReply:
    """Return the call that a message names (`TOOL JSON`), else an answer."""
    last = request["messages"][-1]
    if last["role"] != "user":
        return text_reply("Done.")
    tool, _, arguments = str(last["content"]).partition(" ")
    return StreamedReply(Call(tool, arguments))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a workspace with a server in a folder of its own, and other files."""
    folder = tmp_path / "shop"
    tools = folder / "tools"
    tools.mkdir(parents=True)
    (tools / "server.py").write_text(MAIN)
    (tools / "helper.py").write_text("")
    shutil.copy(SCRIPTS_DIR / "raw_server.py", tools / "raw.py")
    (folder / "notes.md").write_text("Notes.\n")
    (folder / ".gitignore").write_text("dist/\n")
    return folder


class App:
    """The services of one run of the app on a workspace, and a model that does what a message says."""

    def __init__(self, services: AppServices, workspace_id: str) -> None:
        self.services = services
        self.id = workspace_id

    async def add(self, command: str, *args: str, **fields: Any) -> None:
        """Add a server, as who sees what it runs does."""
        config = McpServerConfig(name="box", command=command, args=args, **fields)
        await self.services.mcp_servers.add(self.id, [ServerDraft(config, {})])

    async def state(self) -> str:
        """Return what becomes of the server."""
        servers = self.services.mcp_servers
        await servers.wait_until_ready(self.id, _START_S)
        return (await self.status()).state

    async def status(self) -> McpServerStatus:
        (status,) = await self.services.mcp_servers.statuses(self.id)
        return status

    @property
    def config(self) -> McpServerConfig:
        (config,) = self.services.mcp_servers.configs(self.id)
        return config

    async def agree(self) -> None:
        await self.services.mcp_servers.consent(self.id, "box", self.config.fingerprint)

    async def agent_does(self, tool: str, **arguments: str) -> None:
        workspace = self.services.open_workspaces[self.id]
        conversation = await workspace.create_session()
        await conversation.run(f"{tool} {json.dumps(arguments)}")


@asynccontextmanager
async def app(project: Path) -> AsyncIterator[App]:
    """Run the app on the data folder beside the project."""
    data = DataDir(project.parent / "data")
    data.ensure()
    services = AppServices(data, dict(os.environ), FixedApprover("once"))
    async with ChatServer(script) as server:
        try:
            record = services.registry.add(project, trusted=True)
            workspace = await services.open_workspace(record.id)
            await workspace.set_models(await services.models.adhoc("local/small", server.base_url, 0))
            yield App(services, record.id)
        finally:
            await services.close()


async def approve(project: Path, command: str, *args: str, **fields: Any) -> None:
    async with app(project) as run:
        await run.add(command, *args, **fields)
        assert await run.state() == "ready", await run.status()


async def agent_runs(project: Path, command: str) -> None:
    """Run the app, whose server starts without a question, and have the agent run a command."""
    async with app(project) as run:
        assert await run.state() == "ready", await run.status()
        await run.agent_does("run_command", command=command)


@asynccontextmanager
async def asking(project: Path, *changed: str) -> AsyncIterator[App]:
    """Assert that the next start asks, and names last what changed."""
    async with app(project) as run:
        assert await run.state() == "unapproved"
        assert run.config.consent_changes[-len(changed) :] == changed
        yield run


async def check_asks(project: Path, *changed: str) -> None:
    """Assert that the next start asks, names what changed, and starts the server once the user agrees."""
    async with app(project) as run:
        await agree_to(run, *changed)
    async with app(project) as run:
        assert await run.state() == "ready"
        assert run.config.consent_changes == ()


async def agree_to(run: App, *changed: str) -> None:
    """Assert that a start asks and names what changed; agree, which starts the server."""
    assert await run.state() == "unapproved"
    assert run.config.consent_changes == changed
    ((name, reason),) = [(it.server, it.reason) for it in run.services.mcp_servers.failures(run.id)]
    assert (name, "wasn't started" in reason) == ("box", True)
    assert changed[0] in reason
    await run.agree()
    assert await run.state() == "ready", await run.status()


async def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _START_S
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        await asyncio.sleep(0.01)


async def test_what_nobody_changed_starts_without_a_question(project: Path) -> None:
    """Over several starts, and a restart; also if the agent changed other folders, or the user the helper."""
    await approve(project, PYTHON, "-S", "tools/server.py")
    for _ in range(2):
        async with app(project) as run:
            assert await run.state() == "ready", await run.status()
            await run.agent_does(
                "run_command", command="echo more >> notes.md; mkdir -p src; echo > src/a.py"
            )
            await run.services.mcp_servers.restart(run.id, "box")
            assert await run.state() == "ready", await run.status()
    (project / "tools" / "helper.py").write_text("BY_USER = 1\n")
    async with app(project) as run:
        assert await run.state() == "ready", await run.status()


async def test_a_change_by_the_agent_asks_again(project: Path) -> None:
    """A command and a tool that edits; the script itself, what it imports, and what it would import then."""
    await approve(project, PYTHON, "-S", "tools/server.py")
    asks: tuple[str, ...] = ()
    for tool, arguments, changed in (
        ("run_command", {"command": "echo '# x' >> tools/server.py"}, "tools/server.py"),
        ("run_command", {"command": "echo 'X = 1' > tools/helper.py"}, "tools/helper.py"),
        ("run_command", {"command": "echo > tools/planted.py"}, "tools/planted.py"),
        ("run_command", {"command": "ln -s tools t; echo '# x' >> t/server.py"}, "tools/server.py"),
        ("write_file", {"path": "tools/helper.py", "content": "X = 2\n"}, "tools/helper.py"),
        ("run_command", {"command": "mv tools a; ln -s a tools"}, ""),
    ):  # fmt: skip
        async with app(project) as run:
            if asks:
                await agree_to(run, *asks)
            assert await run.state() == "ready"
            await run.agent_does(tool, **arguments)
        asks = (changed,)
    async with app(project) as run:
        assert await run.state() == "unapproved"


async def test_a_change_asks_before_a_restart_too(project: Path) -> None:
    """While the app runs: the server of before goes on, the changed one does not start."""
    async with app(project) as run:
        await run.add(PYTHON, "-S", "tools/server.py")
        assert await run.state() == "ready"
        await run.agent_does("run_command", command="echo 'X = 1' > tools/helper.py")
        assert (await run.status()).state == "ready"
        await run.services.mcp_servers.restart(run.id, "box")
        assert await run.state() == "unapproved"


@pytest.mark.parametrize("how", HOW_AWAY)
async def test_a_folder_that_is_away_ends_no_consent(project: Path, how: HowAway) -> None:
    """A server that starts meanwhile fails; once the folder is back, it starts without a question."""
    async with app(project) as run:
        await run.add(PYTHON, "-S", "tools/server.py")
        assert await run.state() == "ready", await run.status()
        with away(project, how):
            await run.services.mcp_servers.restart(run.id, "box")
            assert await run.state() == "failed"
            assert "folder is missing" in (await run.status()).why
        await run.services.mcp_servers.restart(run.id, "box")
        assert await run.state() == "ready", await run.status()


async def test_a_program_by_the_user_is_asked_about_too(project: Path) -> None:
    """The script's digest counts, whoever changed it: nobody knows who a program was started by."""
    await approve(project, PYTHON, "-S", "tools/server.py")
    (project / "tools" / "server.py").write_text(f"# by the user\n{MAIN}")
    await check_asks(project, "tools/server.py")


async def test_links_are_followed(project: Path) -> None:
    """A link to the script, a folder behind a link, and where either leads."""
    (project / "linked").symlink_to("tools")
    (project / "start.py").symlink_to("linked/server.py")
    await approve(project, PYTHON, "-S", "start.py")
    (project / "other").mkdir()
    for file in (project / "tools").iterdir():
        shutil.copy2(file, project / "other")
    await agent_runs(project, "ln -sfn other linked")
    async with app(project) as run:
        assert await run.state() == "unapproved"
        assert "linked" in run.config.consent_changes


async def test_the_python_of_an_environment_is_replaced(project: Path) -> None:
    """By its path, and by the name that PATH leads to; the history does not see what is in an environment."""
    programs = project / ".venv" / "bin"
    programs.mkdir(parents=True)
    (project / ".venv" / "pyvenv.cfg").write_text(f"home = {os.path.dirname(PYTHON)}\n")
    (programs / "python").symlink_to(PYTHON)
    packages = project / ".venv" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "a.py").write_text("")
    path = os.pathsep.join((str(programs), os.environ["PATH"]))
    for command, fields in ((".venv/bin/python", {}), ("python", {"env": {"PATH": path}})):
        await approve(project, command, "-S", "tools/server.py", **fields)
        await agent_runs(project, "cp -L .venv/bin/python p; rm .venv/bin/python; mv p .venv/bin/python")
        async with app(project) as run:
            assert await run.state() == "unapproved"
            assert ".venv/bin/python" in run.config.consent_changes
            await run.agree()
            change = f"echo 'X = 1' > {packages.relative_to(project)}/a.py"
            await run.agent_does("run_command", command=change)
        async with asking(project, ".venv/lib/python3.11/site-packages/a.py") as run:
            assert len(run.config.consent_changes) == 1
            await run.services.mcp_servers.remove(run.id, "box")


async def test_what_is_ignored_and_bytecode(project: Path) -> None:
    """A folder that the history leaves out counts as a whole; compiled files in the workspace aren't read."""
    (project / "dist").mkdir()
    (project / "dist" / "late.py").write_text("")
    (project / "tools" / "helper.py").write_text("import late\n")
    (project / "server.py").write_text(
        "import sys; sys.path[:0] = ['tools', 'dist']\nimport runpy\n"
        "runpy.run_path('tools/server.py', run_name='__main__')\n"
    )
    await approve(project, PYTHON, "-S", "server.py")
    assert "__pycache__" not in [name for _, names, _ in os.walk(project) for name in names]
    await agent_runs(project, "echo 'X = 1' > dist/late.py")
    await check_asks(project, "dist/late.py")
    await agent_runs(project, "mkdir -p dist/__pycache__; echo evil > dist/__pycache__/late.cpython-311.pyc")
    async with app(project) as run:
        assert await run.state() == "ready", await run.status()


async def test_modules_and_runners_load_from_the_folder_in_which_they_start(project: Path) -> None:
    """`-m` and `-c`, and a runner of a project: a change by the agent anywhere asks."""
    (project / "serve.py").write_text("import runpy; runpy.run_path('tools/raw.py', run_name='__main__')\n")
    (project / "Makefile").write_text(f"serve:\n\t@{PYTHON} -S serve.py\n")
    commands = [[PYTHON, "-S", "-m", "serve"], [PYTHON, "-S", "-c", "import serve"]]
    if shutil.which("make"):
        commands.append(["make", "-s", "serve"])
    for number, words in enumerate(commands):
        await approve(project, *words)
        await agent_runs(project, f"mkdir -p new; echo {number} > new/a.py")
        async with asking(project, "new/a.py") as run:
            await run.services.mcp_servers.remove(run.id, "box")


async def test_a_program_of_elsewhere_is_not_asked_about(project: Path) -> None:
    """Its arguments that are folders, or databases, are data."""
    (project / "shop.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    server = str(SCRIPTS_DIR / "raw_server.py")
    await approve(project, PYTHON, "-S", server, "--root", ".", "--db", "shop.db")
    await agent_runs(project, "echo x > new.py; printf xxx >> shop.db")
    async with app(project) as run:
        assert await run.state() == "ready"
        assert run.config.approved_files == {}


async def test_what_a_running_command_changed_counts(project: Path) -> None:
    """The history learns of it with the command's end only: a restart before that asks, too."""
    await approve(project, PYTHON, "-S", "tools/server.py")
    async with app(project) as run:
        workspace = run.services.open_workspaces[run.id]
        conversation = await workspace.create_session()
        command = "echo 'X = 1' > tools/helper.py; touch begun; sleep 60"
        async with asyncio.TaskGroup() as group:
            group.create_task(conversation.run(f"run_command {json.dumps({'command': command})}"))
            await wait_until((project / "begun").exists)
            await run.services.mcp_servers.restart(run.id, "box")
            assert await run.state() == "unapproved"
            assert run.config.consent_changes == ("tools/",)
            await conversation.stop()
