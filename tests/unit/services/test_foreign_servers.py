"""Servers of other programs as drafts: what is offered, without secrets, and what is refused and why."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.mcp_server import MAX_SERVERS, McpServerConfig, validate_server
from helix_desktop.domain.server_secrets import SecretWords, fill_in
from helix_desktop.foreign.discovery import AgentFolders
from helix_desktop.services.foreign_servers import ForeignServerReader, ForeignServers
from helix_desktop.services.mcp_config import ServerDraft
from helix_desktop.tools.workspace_tools import open_jail
from helix_desktop.workspaces.registry import WorkspaceRegistry
from tests.support.tables import for_each

posix = pytest.mark.skipif(os.name == "nt", reason="links and pipes that Windows does not have")


class Servers:
    """A trusted workspace and the home of its user, both empty."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.home = folder / "home"
        self.root.mkdir()
        self.home.mkdir()
        self.registry = WorkspaceRegistry(folder / "workspaces", lambda: 1)
        self.id = self.registry.add(self.root, trusted=True).id
        self.foreign = ForeignServerReader(
            self.registry, open_jail, lambda: AgentFolders(self.home, {}, "linux")
        )

    def write(self, servers: dict[str, Any], path: str = ".mcp.json", table: str = "mcpServers") -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps({table: servers}), encoding="utf-8")
        return place

    def configure(self, *configs: McpServerConfig) -> None:
        self.registry.change(self.id, servers=configs)

    async def find(self) -> ForeignServers:
        return await self.foreign.read(self.id)

    async def only_draft(self, **fields: object) -> ServerDraft:
        self.write({"box": fields})
        (server,) = (await self.find()).servers
        return server.draft

    async def reasons(self) -> dict[str, str]:
        return {server.name or server.file: server.why for server in (await self.find()).unusable}


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path)


async def test_the_servers_of_all_programs_are_offered_and_none_is_added(servers: Servers) -> None:
    servers.write({"a": {"command": "a"}})
    servers.write({"b": {"command": "b"}}, ".vscode/mcp.json", "servers")
    servers.write({"c": {"url": "https://c.example/mcp"}}, ".cursor/mcp.json")
    codex = servers.root / ".codex" / "config.toml"
    codex.parent.mkdir()
    codex.write_text('[mcp_servers.d]\ncommand = "d"\n', encoding="utf-8")
    claude = {"mcpServers": {"e": {"command": "e"}}, "projects": {str(servers.root): {"mcpServers": {}}}}
    (servers.home / ".claude.json").write_text(json.dumps(claude), encoding="utf-8")
    found = await servers.find()
    assert [(server.draft.config.name, server.program, server.file) for server in found.servers] == [
        ("a", "Claude Code", ".mcp.json"),
        ("d", "Codex", ".codex/config.toml"),
        ("b", "VS Code", ".vscode/mcp.json"),
        ("c", "Cursor", ".cursor/mcp.json"),
        ("e", "Claude Code", "~/.claude.json".replace("/", os.sep)),
    ]
    assert not found.unusable
    assert not any(server.draft.config.approved for server in found.servers)
    assert servers.registry.get(servers.id).servers == ()


async def test_nothing_is_read_before_the_folder_is_trusted(servers: Servers) -> None:
    servers.write({"a": {"command": "a"}})
    (servers.home / ".claude.json").write_text("{", encoding="utf-8")
    servers.registry.change(servers.id, trusted=False)
    assert await servers.find() == ForeignServers()
    servers.registry.change(servers.id, trusted=True)
    found = await servers.find()
    assert (len(found.servers), len(found.unusable)) == (1, 1)


async def test_values_are_asked_for(servers: Servers) -> None:
    """None is copied: each is a secret of this name, which the user enters."""
    draft = await servers.only_draft(
        command="run",
        env={"API_KEY": "s3cret-a", "LEVEL": "s3cret-b", "PIN": "${input:pin}", "TEAM": "$TEAM"},
    )
    assert set(draft.missing_secrets) == {"API_KEY", "PIN", "TEAM", "LEVEL"}
    assert draft.config.env == {}
    draft = await servers.only_draft(
        type="http", url="https://a.example/mcp", headers={"Authorization": "Bearer s3cret", "X-Region": "eu"}
    )
    assert set(draft.config.secret_headers) == {"Authorization", "X-Region"}
    assert draft.config.headers == {}


async def test_folders_and_defaults_are_filled_in(servers: Servers) -> None:
    draft = await servers.only_draft(
        command="run", args=["${workspaceFolder}/docs", "${LEVEL:-info}", "${TOKEN:-s3cret}", "${OTHER}"],
        cwd="${workspaceFolder}",
    )  # fmt: skip
    assert draft.config.args == (
        f"{servers.root}/docs",
        "info",
        "${TOKEN}",
        "${OTHER}",
    )
    assert draft.config.cwd == ""
    assert set(draft.missing_secrets) == {"TOKEN", "OTHER"}
    assert set(draft.config.secret_words) == {"TOKEN", "OTHER"}


@for_each(
    ("words", "shown"),
    [
        (["--api-key", "s3cret"], ["--api-key", "${api-key}"]),
        (["--api-key", "-S3cret", "-y"], ["--api-key", "${api-key}", "-y"]),
        (["--token", "--port", "80"], ["--token", "--port", "80"]),
        (["--token", "${A}s3cret", "TOKEN=${A}s3cret"], ["--token", "${token}", "TOKEN=${TOKEN}"]),
        (["--token=s3cret"], ["--token=${token}"]),
        (["-e", "DB_PASSWORD=s3cret"], ["-e", "DB_PASSWORD=${DB_PASSWORD}"]),
        (
            ["--header", "Authorization: Bearer s3cret"],
            ["--header", "Authorization: Bearer ${Authorization}"],
        ),
        (["--header", "Authorization:${AUTH}"], ["--header", "Authorization:${AUTH}"]),
        (["postgresql://me:s3cret@db/app"], ["postgresql://${LOGIN}@db/app"]),
        (["https://a.example/mcp?key=s3cret&x=1"], ["https://a.example/mcp?key=${key}&x=1"]),
        (["https://a.example/s3cretA1b2C3d4E5f6G7h8I9j0K1l2M3n4/mcp"], ["https://a.example/${VALUE}/mcp"]),
        (["sk-s3cretA1b2C3d4E5f6"], ["${VALUE}"]),
        (["-c", "TOKEN=s3cret npx x"], ["-c", "TOKEN=${TOKEN}"]),
        (["-c", "x --api-key s3cret"], ["-c", "x --api-key ${api-key}"]),
        (['{"apiKey": "s3cret", "x": 1}'], ['{"apiKey": "${apiKey}']),
        (["-y", "@scope/server-x@1.2.3", "--port", "80"], ["-y", "@scope/server-x@1.2.3", "--port", "80"]),
        (["-e", "API_KEY", "ghcr.io/x/mcp-server"], ["-e", "API_KEY", "ghcr.io/x/mcp-server"]),
    ],
)
def test_a_placeholder_stands_for_a_secret_in_a_command(words: list[str], shown: list[str]) -> None:
    assert list(SecretWords().take_from(words)) == shown


SECRET = st.from_regex(r"[A-Za-z0-9]{6,40}", fullmatch=True).map(lambda text: f"s3cret{text}")


@given(SECRET, st.sampled_from(["API_KEY", "auth-token", "Password", "client_secret", "bearer"]))
def test_no_secret_by_its_name_is_left(secret: str, name: str) -> None:
    for words in (
        [f"--{name}", secret], [f"--{name}={secret}"], [f"{name}: {secret} {secret}"],
        [f"https://a/?x=1&{name}={secret}#y"], [f"sh -c 'x --{name} {secret}'"], [f'{{"{name}":"{secret}"}}'],
    ):  # fmt: skip
        secrets = SecretWords()
        clean = secrets.take_from(words)
        assert secret not in " ".join(clean)
        assert [fill_in(word, secrets.values) for word in clean] == words, "nothing is lost"


async def test_a_configured_target_is_not_offered_again(servers: Servers) -> None:
    """Also under another name, with a secret filled in, or by another program."""
    servers.write(
        {"a": {"command": "run", "args": ["--token", "s3cret", "x"]}, "b": {"url": "https://b/mcp"}}
    )
    servers.write({"again": {"url": "https://b/mcp"}}, ".cursor/mcp.json")
    found = (await servers.find()).servers
    assert [server.draft.config.name for server in found] == ["a", "b"]
    servers.configure(McpServerConfig(name="mine", command="run", args=("--token", "${token}", "x")))
    assert [server.draft.config.name for server in (await servers.find()).servers] == ["b"]
    servers.configure(McpServerConfig(name="mine", command="run", args=("--token", "${token}", "y")))
    assert len((await servers.find()).servers) == len(found)


async def test_a_used_name_gets_a_number(servers: Servers) -> None:
    servers.configure(McpServerConfig(name="box", command="other"))
    servers.write({"box": {"command": "a"}, "Box": {"command": "b"}})
    assert [server.draft.config.name for server in (await servers.find()).servers] == ["box-2", "box-3"]


async def test_what_cannot_be_offered_is_named(servers: Servers) -> None:
    servers.write(
        {
            "sse": {"type": "sse", "url": "https://a/sse"},
            "nothing": {"env": {}},
            "hidden": {"command": "run", "args": ["a\u202eb"]},
            "half": {"command": "run", "args": ["\ud800"]},
            "long": {"command": "run", "args": ["x" * 9000]},
            "pairs": {"command": "run", "args": {"a": 1}},
            "ftp": {"url": "ftp://a"},
            "variable": {"command": "run", "env": {"A B": ""}},
            "open": {"url": "http://far.example/mcp", "headers": {"Authorization": "x"}},
            "na\u202eme": {"url": 1},
            "fine": {"command": "run"},
        }
    )
    assert [server.draft.config.name for server in (await servers.find()).servers] == ["fine"]
    reasons = await servers.reasons()
    for name, part in {
        "sse": "streamable HTTP", "nothing": "neither", "hidden": "invisible", "half": "invisible",
        "long": "too long", "pairs": "must be a list", "ftp": "must start with", "variable": "variable name",
        "open": "unencrypted", "na\\u202eme": "neither",
    }.items():  # fmt: skip
        assert part in reasons.pop(name)
    assert not reasons


async def test_large_files_and_many_servers_are_bounded(servers: Servers) -> None:
    servers.write({f"s{number}": {"command": f"s{number}"} for number in range(MAX_SERVERS + 9)})
    found = await servers.find()
    assert len(found.servers) == MAX_SERVERS
    assert "Only the first 50" in found.unusable[0].why
    servers.write({"a": {"command": "x" * 10_000_000}})
    (servers.home / ".claude.json").write_bytes(b" " * 10_000_000)
    assert await servers.reasons() == {
        ".mcp.json": "The file is larger than 1.0 MB.",
        "~/.claude.json".replace("/", os.sep): "The file is larger than 8.0 MB.",
    }


@posix
@pytest.mark.timeout(20)
async def test_links_out_and_pipes_are_refused(servers: Servers, tmp_path: Path) -> None:
    """The user's own files may be links, as those of programs that keep settings elsewhere are."""
    outside = tmp_path / "outside.json"
    outside.write_text('{"mcpServers": {"a": {"command": "a"}}}', encoding="utf-8")
    (servers.root / ".mcp.json").symlink_to(outside)
    (servers.root / ".cursor").symlink_to(tmp_path)
    (servers.root / ".vscode").mkdir()
    os.mkfifo(servers.root / ".vscode" / "mcp.json")
    (servers.home / ".codex").mkdir()
    os.mkfifo(servers.home / ".codex" / "config.toml")
    assert not (await servers.find()).servers
    reasons = await servers.reasons()
    assert list(reasons) == [".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", "~/.codex/config.toml"]
    assert "out of the workspace" in reasons[".mcp.json"]
    (servers.home / ".claude.json").symlink_to(outside)
    assert [server.file for server in (await servers.find()).servers] == ["~/.claude.json"]


@posix
async def test_an_ignored_file_is_not_read(servers: Servers) -> None:
    servers.write({"a": {"command": "a"}})
    (servers.root / ".agentignore").write_text(".mcp.json\n", encoding="utf-8")
    found = await servers.find()
    assert not found.servers
    assert [server.file for server in found.unusable] == [".mcp.json"]


@given(
    st.dictionaries(
        st.text(max_size=6),
        st.fixed_dictionaries(
            {},
            optional={
                "command": st.text(max_size=12),
                "url": st.text(max_size=12).map(lambda end: f"https://a.example/{end}"),
                "args": st.lists(st.text(max_size=8) | st.integers(), max_size=3),
                "env": st.dictionaries(st.text(max_size=6), st.text(max_size=6), max_size=2),
                "cwd": st.text(max_size=6),
            },
        ),
        max_size=4,
    )
)
def test_what_is_offered_is_valid_once_it_is_filled_in(
    tmp_path_factory: pytest.TempPathFactory, found: dict[str, Any]
) -> None:
    servers = Servers(tmp_path_factory.mktemp("offers"))
    servers.write(found)
    names = []
    for server in asyncio.run(servers.find()).servers:
        config = server.draft.config
        names.append(config.name)
        assert not validate_server(config)
        assert msgspec.json.encode(config)
    assert len(set(names)) == len(names)
