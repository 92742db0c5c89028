"""What a server's command runs of its workspace: files, folders, links, what variables and runners name."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.mcp.client.start_files import StartFiles, find_start_files, read_folders

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and programs of POSIX")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a workspace with programs of several kinds."""
    root = tmp_path / "ws"
    for path in (
        "tools/mcp/server.py",
        "tools/mcp/config.json",
        "js/cli/index.js",
        "js/cli/lib.js",
        "a b.py",
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    for path in ("bin/serve", ".venv/bin/my-server", "node_modules/.bin/local-tool"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("#!/usr/bin/env python3\n")
        (root / path).chmod(0o755)
    (root / ".venv" / "pyvenv.cfg").write_text("")
    (root / "package.json").write_text('{"name": "shop"}')
    (root / "shop.db").write_bytes(b"SQLite format 3\0")
    (root / "data").mkdir()
    return root


def found(root: Path, line: str, path: str = "/usr/bin:/bin", **fields: Any) -> StartFiles:
    command, *args = shlex.split(line)
    config = McpServerConfig(name="x", command=command, args=tuple(args), **fields)
    return find_start_files(config, root, {"PATH": path, "HOME": str(root.parent)})


@pytest.mark.parametrize(
    ("line", "files", "folders"),
    [
        ("python3 tools/mcp/server.py", "tools/mcp/server.py", "tools/mcp"),
        ("python3 -u tools/mcp/server.py --config tools/mcp/config.json data", "tools/mcp/config.json "
         "tools/mcp/server.py", "tools/mcp"),
        ("python3 tools/mcp", "", "tools/mcp"),
        ("python3 -m tools.server", "", "."),
        ("python3 -c 'import tools'", "", "."),
        ("python3 - data", "", ". data"),
        ("python3 'a b.py'", "'a b.py'", "."),
        ("env A=1 timeout 5 python3 tools/mcp/server.py", "tools/mcp/server.py", "tools/mcp"),
        ("bash -c 'cd tools && python3 mcp/server.py'", "", "."),
        ("bash -c 'exec python3 tools/mcp/server.py'", "tools/mcp/server.py", ". tools/mcp"),
        ("node js/cli/index.js", "js/cli/index.js", "js/cli node_modules"),
        ("node --import=./js/cli/lib.js /usr/lib/x.js", "js/cli/lib.js", ". js/cli node_modules"),
        ("bin/serve", "bin/serve", "."),
        (".venv/bin/my-server", ".venv/bin/my-server", ".venv"),
        ("cargo run", "", "."),
        ("make serve", "", "."),
        ("uv run tools/mcp/server.py", "tools/mcp/server.py", ". tools/mcp"),
        ("uv --directory data run server.py", "", ". data"),
        ("npm start", "", "."),
        ("npx local-tool", "package.json", ". node_modules"),
        ("npx shop", "package.json", ". node_modules"),
        ("npx -y @scope/remote data", "package.json", "node_modules"),
        ("npm exec -y @scope/remote@1.2 -- data", "package.json", "node_modules"),
        ("npx -y tsx js/cli/index.js", "js/cli/index.js package.json", "js/cli node_modules"),
        ("npx ./js/cli", "package.json", "js/cli node_modules"),
        ("uvx mcp-server-git --repository data", "package.json", "node_modules"),
        ("uvx --from ./tools/mcp serve", "package.json", "node_modules tools/mcp"),
        ("docker run -i image", "", ""),
        ("docker compose run server", "", "."),
        ("/usr/bin/true --config tools/mcp/config.json --db shop.db data", "tools/mcp/config.json", ""),
        ("/usr/bin/true --script=tools/mcp/server.py", "tools/mcp/server.py", "tools/mcp"),
        ("/usr/bin/true", "", ""),
        ("python3 shop.db", "shop.db", "."),
    ],
)  # fmt: skip
def test_files_and_folders_of_a_command(root: Path, line: str, files: str, folders: str) -> None:
    """Each by its path in the workspace; `.` is the workspace's own folder."""
    start_files = found(root, line)
    assert sorted(start_files.files) == sorted(shlex.split(files)), start_files
    assert [folder or "." for folder in start_files.folders] == sorted(folders.split()), start_files


def test_an_address_runs_nothing_here(root: Path) -> None:
    """Nor is anything read for it."""
    config = McpServerConfig(name="x", url="https://a.example/mcp")
    assert not find_start_files(config, root, {})


def test_names_are_looked_up_as_at_the_start(root: Path) -> None:
    """In PATH, of the server's own variables too; a folder of PATH in the workspace can have others."""
    path = f"{root / '.venv' / 'bin'}:/usr/bin:/bin"
    assert sorted(found(root, "my-server", path).files) == [".venv/bin/my-server"]
    assert found(root, "my-server", path).folders == (".venv", ".venv/bin")
    assert found(root, "my-server", env={"PATH": path}).folders == (".venv", ".venv/bin")
    assert not found(root, "my-server")
    assert found(root, "/usr/bin/true", path).folders == (".venv/bin",)


def test_variables_that_programs_load_from(root: Path) -> None:
    """Files of any, folders of those that name where code is."""
    env = {"PYTHONPATH": f"tools/mcp:{root}/js", "DATA_DIR": "data", "CONFIG": "tools/mcp/config.json"}
    start_files = found(root, "/usr/bin/true", env=env)
    assert start_files.folders == ("js", "tools/mcp")
    assert list(start_files.files) == ["tools/mcp/config.json"]
    assert found(root, "/usr/bin/true", env={"NODE_OPTIONS": "--require ./js/cli/lib.js"}).folders == (
        "js/cli",
        "node_modules",
    )


def test_links_and_their_targets(root: Path, tmp_path: Path) -> None:
    """Each link of the workspace on the way has its target noted; what lies outside of it is not read."""
    (root / "t").symlink_to("tools")
    (tmp_path / "outside.py").symlink_to(root / "t" / "mcp" / "server.py")
    (root / "python").symlink_to(sys.executable)
    start_files = found(root, f"./python {tmp_path / 'outside.py'}")
    assert start_files.files["t"] == "-> tools"
    assert start_files.files["python"] == f"-> {sys.executable}"
    assert "tools/mcp/server.py" in start_files.files
    assert "tools/mcp" in start_files.folders
    (root / "loop").symlink_to("loop")
    assert "loop" in found(root, "./python loop").files


def test_an_environment_elsewhere_can_lead_back(root: Path, tmp_path: Path) -> None:
    """A project that is installed as a link is run from the workspace, whatever starts it."""
    packages = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    program = tmp_path / "env" / "bin" / "serve"
    program.parent.mkdir()
    program.write_text("#!/bin/true\n")
    program.chmod(0o755)
    assert not found(root, str(program))
    (packages / "shop.pth").write_text(f"{root}/tools\n")
    assert found(root, str(program)).folders == ("tools",)
    (packages / "__editable___js_finder.py").write_text(f"MAPPING = {{'js': '{root}/js'}}\n")
    assert found(root, str(program)).folders == ("js", "tools")


def test_what_is_no_file_is_not_waited_for(root: Path) -> None:
    """A pipe among the arguments, a word of no path, and one too long for any."""
    os.mkfifo(root / "pipe.py")
    start_files = found(root, f"python3 pipe.py {'x' * 10_000} '{chr(10)}'")
    assert start_files.files == {}


def test_states_of_folders(root: Path) -> None:
    """What a stat says of each entry, apart for what the history does not see; links are followed once."""
    start_files = StartFiles(folders=("js", ""))
    states, _ = read_folders(root, start_files, ["js/cli"])
    assert list(states) == ["js", ""]
    (root / "js" / "cli" / "lib.js").write_text("changed")
    later, _ = read_folders(root, start_files, ["js/cli"])
    assert later["js"].covered == states["js"].covered
    assert later["js"].uncovered != states["js"].uncovered
    assert later["js"].newest == "js/cli/lib.js"
    for unloaded in (".git/config", "js/__pycache__/x.pyc", "js/cli/log/server.log"):
        (root / unloaded).parent.mkdir(parents=True, exist_ok=True)
        (root / unloaded).write_text("x")
    again, _ = read_folders(root, start_files, ["js/cli", "js/cli/log"])
    assert again["js"].covered == later["js"].covered
    with_bytecode = StartFiles(folders=("js",), reads_bytecode=True)
    compiled, _ = read_folders(root, with_bytecode, ["js/cli"])
    assert compiled["js"].covered != later["js"].covered
    (root / "js" / "linked").symlink_to("../tools")
    followed, found_files = read_folders(root, StartFiles(folders=("js",)), [])
    assert list(followed) == ["js", "tools"]
    assert found_files.folders == ("js", "tools")


def test_more_than_can_be_looked_at_is_no_state(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can say then that nothing changed."""
    monkeypatch.setattr("helix_desktop.mcp.client.start_files.MAX_ENTRIES", 3)
    states, _ = read_folders(root, StartFiles(folders=("",)), [])
    assert (states[""].covered, states[""].uncovered) == ("", "")
