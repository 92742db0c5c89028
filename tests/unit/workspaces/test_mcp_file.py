"""A workspace's mcp.json: what users write in it, what Helix writes, and what is refused with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import SettingsDamaged
from helix_desktop.domain.mcp_server import McpServerConfig, in_file, validate_server
from helix_desktop.domain.server_secrets import SecretWords, is_secret_name
from helix_desktop.services.mcp_config import build_draft, parse_server_configs
from helix_desktop.workspaces.mcp_file import McpFile
from helix_desktop.workspaces.registry import WorkspaceRegistry

replace = msgspec.structs.replace


@pytest.fixture
def file(tmp_path: Path) -> McpFile:
    return McpFile(tmp_path)


def write(file: McpFile, servers: dict[str, Any], **other: object) -> None:
    file.path.write_text(json.dumps({**other, "mcpServers": servers}, indent=2), encoding="utf-8")


def test_every_field_is_read_and_written_back_the_same(file: McpFile) -> None:
    write(
        file,
        {
            "box": {
                "command": "npx",
                "args": ["-y", "server", "--key", "${SERVER_KEY}"],
                "env": {"LEVEL": "2"},
                "secrets": ["API_TOKEN", "SERVER_KEY"],
                "cwd": "tools",
                "quiet_s": 300,
            },
            "web": {
                "url": "https://a.example/mcp",
                "headers": {"X-Region": "eu"},
                "secrets": ["Authorization"],
            },
        },
    )
    before = file.path.read_bytes()
    box, web = file.load()
    assert box == McpServerConfig(
        name="box", command="npx", args=("-y", "server", "--key", "${SERVER_KEY}"), env={"LEVEL": "2"},
        secret_env=("API_TOKEN",), secret_words=("SERVER_KEY",), cwd="tools", quiet_s=300,
    )  # fmt: skip
    assert web == McpServerConfig(
        name="web", url="https://a.example/mcp", headers={"X-Region": "eu"}, secret_headers=("Authorization",)
    )
    file.save((box, web))
    assert file.path.read_bytes().strip() == before.strip()


def test_the_keys_of_others_stay(file: McpFile) -> None:
    """Of the file and of a server, also when the server is changed; one that goes takes its keys along."""
    write(
        file,
        {"box": {"type": "stdio", "command": "old"}, "gone": {"command": "x", "timeout": 3}},
        **{"//": "mine", "inputs": []},
    )
    box, _ = file.load()
    file.save([replace(box, command="new"), McpServerConfig(name="added", url="https://a.example/mcp")])
    assert json.loads(file.path.read_text()) == {
        "//": "mine",
        "inputs": [],
        "mcpServers": {
            "box": {"command": "new", "type": "stdio"},
            "added": {"url": "https://a.example/mcp"},
        },
    }


def test_a_missing_file_is_made_with_a_comment_once(file: McpFile) -> None:
    assert file.load() == ()
    file.create("Servers.")
    assert json.loads(file.path.read_text()) == {"//": "Servers.", "mcpServers": {}}
    assert file.load() == ()
    write(file, {"box": {"command": "x"}})
    file.create("Servers.")
    assert [config.name for config in file.load()] == ["box"]


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (['{"mcpServers": {', '"a": {"command": "x",}', "}}"], 2, "property name"),
        (['{"mcpServers": {', '"a": {"command": "x"},', '"a": {"command": "y"}}}'], 3, "a appears twice"),
        (['{"mcpServers": {', '"a": {"command": "x",', '"args": "y"}}}'], 3, "must be a list (got text)"),
        (['{"mcpServers": {', '"a": {"command": "x",', '"env": {"PORT": 1}}}}'], 3, "must be text"),
        (['{"mcpServers": {', '"Has Space": {"command": "x"}}}'], 2, "lowercase letters"),
        (['{"mcpServers": {', '"a": {"command": "x"},', '"b": {"args": []}}}'], 3, "Enter a command"),
        (['{"mcpServers": {', '"a": {', '"url": "ftp://b"}}}'], 3, "must start with"),
        (['{"mcpServers": {', '"env": {"command": "x", "env": {', '"A B": "c"}}}}'], 2, "variable name"),
        (
            ['{"mcpServers": {', '"a": {"command": "x", "env": {', '"API_KEY": "s3cret"}}}}'],
            3,
            "API_KEY looks like a secret. List it in “secrets” instead",
        ),
        (
            ['{"mcpServers": {', '"a": {"command": "x",', '"args": ["--api-key",', '"s3cret"]}}}'],
            3,
            "api-key looks like a secret. Write ${api-key} in its place",
        ),
        (['{"mcpServers": {', '"a": {', '"url": "https://me:s3cret@b/mcp"}}}'], 3, "LOGIN looks like"),
        (["[]"], 1, "must be a JSON object"),
        (["{", '"mcpServers": []}'], 2, "must be an object"),
    ],
)
def test_an_error_is_named_with_its_line(file: McpFile, lines: list[str], line: int, words: str) -> None:
    """Nothing is written over it."""
    file.path.write_text("\n".join(lines), encoding="utf-8")
    for use in (file.load, lambda: file.save([McpServerConfig(name="b", command="y")])):
        with pytest.raises(SettingsDamaged) as caught:
            use()
        assert caught.value.why.startswith(f"Line {line}: ")
        assert words in caught.value.why
    assert file.path.read_text() == "\n".join(lines)


def test_a_placeholder_of_a_readme_names_a_secret(file: McpFile) -> None:
    """What is pasted into the file by hand means what it means in the paste field."""
    entry = {"command": "npx", "args": ["--header", "Authorization:${AUTH}"], "env": {"AUTH": "<your token>"}}
    write(file, {"remote": entry, "plain": {"command": "y", "env": {"API_KEY": "${API_KEY}"}}})
    remote, plain = file.load()
    assert (remote.secret_words, remote.env) == (("AUTH",), {"AUTH": "${AUTH}"})
    assert (plain.secret_env, plain.env) == (("API_KEY",), {})
    (draft,) = parse_server_configs(json.dumps({"remote": entry}))
    assert in_file(draft.config) == remote
    assert remote.fill_in({"AUTH": "s3cret"}).args[1] == "Authorization:s3cret"
    file.save((remote, plain))
    assert file.load() == (remote, plain)


def test_secrets_are_filled_in_where_they_are_named() -> None:
    line = "npx server --token s3cret-a https://me:s3cret-b@db.example/x API_KEY=s3cret-c"
    (draft,) = parse_server_configs(f"TOKEN=s3cret-d {line}")
    assert "s3cret" not in str(draft.config)
    assert set(draft.secrets.values()) == {"s3cret-a", "me:s3cret-b", "s3cret-c", "s3cret-d"}
    filled = draft.config.fill_in(draft.secrets)
    assert " ".join((filled.command, *filled.args)) == line
    assert filled.env == {"TOKEN": "s3cret-d"}


WORDS = st.text(max_size=12) | st.sampled_from(["${A}", "--token", "${API_KEY}", "x=${B}", "<key>", "$A"])
NAMES = st.sampled_from(["A", "API_KEY", "LEVEL", "TOKEN", "AUTHORIZATION"])


@given(st.lists(WORDS, max_size=4), st.dictionaries(NAMES, WORDS, max_size=3), st.booleans())
def test_what_is_pasted_comes_back_from_the_file(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], pairs: dict[str, str], is_url: bool
) -> None:
    """Consent is for what was on screen: the file must say exactly that, and no secret."""
    file = McpFile(tmp_path_factory.mktemp("file"))
    fields: dict[str, Any] = {"command": "run", "args": words, "env": pairs}
    if is_url:
        fields = {"url": "https://a.example/mcp", "headers": pairs}
    draft = build_draft("box", fields, ())
    if validate_server(draft.config):
        return
    file.save([draft.config])
    (loaded,) = file.load()
    assert loaded == in_file(draft.config)
    assert loaded.fingerprint == draft.config.fingerprint
    for name, value in pairs.items():
        if is_secret_name(name) and draft.secrets.get(name):
            assert value not in json.loads(file.path.read_text())["mcpServers"]["box"].get("env", {}).values()


@given(st.lists(st.text(max_size=20), max_size=4))
def test_words_are_whole_once_their_secrets_are_filled_in(words: list[str]) -> None:
    secrets = SecretWords()
    clean = secrets.take_from(words)
    config = McpServerConfig(name="x", command="run", args=clean, secret_words=tuple(secrets.values))
    assert list(config.fill_in(secrets.values).args) == words


class Servers:
    def __init__(self, folder: Path) -> None:
        (folder / "project").mkdir()
        self.registry = WorkspaceRegistry(folder / "workspaces", lambda: 1)
        self.id = self.registry.add(folder / "project", trusted=True).id
        self.file = self.registry.mcp_file(self.id)
        self.record_file = self.registry.data_folder(self.id) / "workspace.toml"

    def add_approved(self, *names: str) -> None:
        configs = (McpServerConfig(name=name, command=f"run-{name}", secret_env=("KEY",)) for name in names)
        approved = [replace(config, approved=config.fingerprint, off=("t",)) for config in configs]
        self.registry.change_servers(self.id, lambda servers: (*servers, *approved))

    def edit(self, before: str, after: str) -> None:
        content = self.file.path.read_text()
        assert before in content
        self.file.path.write_text(content.replace(before, after))

    @property
    def configs(self) -> tuple[McpServerConfig, ...]:
        return self.registry.get(self.id).servers


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path)


def test_the_file_has_fields_and_the_record_has_state(servers: Servers) -> None:
    servers.add_approved("box")
    assert "run-box" not in servers.record_file.read_text()
    assert "approved" not in servers.file.path.read_text()
    again = WorkspaceRegistry(servers.record_file.parents[1], lambda: 1)
    assert again.get(servers.id) == servers.registry.get(servers.id)
    (config,) = again.get(servers.id).servers
    assert (config.is_consented, config.off, config.stored_secrets) == (True, ("t",), ("KEY",))


def test_a_command_edited_in_the_file_needs_consent_again(servers: Servers) -> None:
    servers.add_approved("box", "other")
    assert servers.registry.get(servers.id).servers_awaiting_consent == ()
    servers.edit("run-box", "run-evil")
    assert servers.registry.read_servers(servers.id)
    assert servers.registry.get(servers.id).servers_awaiting_consent == ("box",)
    assert not servers.registry.read_servers(servers.id), "nothing is new"
    servers.edit("run-evil", "run-box")
    servers.registry.read_servers(servers.id)
    assert servers.registry.get(servers.id).servers_awaiting_consent == (), "it is what was agreed to"


def test_a_change_in_the_window_keeps_what_was_edited_meanwhile(servers: Servers) -> None:
    servers.add_approved("box")
    servers.edit("run-box", "run-new")
    servers.registry.change_servers(servers.id, lambda now: (replace(each, enabled=False) for each in now))
    config = servers.configs[0]
    assert (config.command, config.enabled, config.is_consented) == ("run-new", False, False)
    assert "run-new" in servers.file.path.read_text()


def test_with_an_error_the_servers_of_before_stay_and_nothing_is_written(servers: Servers) -> None:
    servers.add_approved("box")
    before = servers.configs
    servers.edit('"run-box"', '"run-box",,')
    broken = servers.file.path.read_text()
    assert servers.registry.read_servers(servers.id)
    assert servers.configs == before
    assert servers.registry.server_errors[servers.id].why.startswith("Line 4: ")
    with pytest.raises(SettingsDamaged):
        servers.registry.change_servers(servers.id, lambda _: ())
    servers.registry.change_servers(servers.id, lambda now: (replace(each, enabled=False) for each in now))
    assert not servers.configs[0].enabled, "the state is not in the file"
    assert servers.file.path.read_text() == broken
    servers.edit('"run-box",,', '"run-box"')
    assert servers.registry.read_servers(servers.id)
    assert servers.id not in servers.registry.server_errors
    assert not servers.configs[0].enabled


def test_a_server_that_comes_back_into_the_file_has_its_state(servers: Servers) -> None:
    """Its secrets are known while it is away; one that is removed in the window leaves nothing."""
    servers.add_approved("box", "other")
    content = servers.file.path.read_text()
    servers.file.path.unlink()
    servers.registry.read_servers(servers.id)
    assert servers.configs == ()
    former = servers.registry.get(servers.id).former_servers
    assert [(state.name, state.stored_secrets) for state in former] == [
        ("box", ("KEY",)),
        ("other", ("KEY",)),
    ]
    servers.registry.change(servers.id, session="x")
    servers.file.path.write_text(content)
    servers.registry.read_servers(servers.id)
    assert servers.registry.get(servers.id).servers_awaiting_consent == ()
    assert [each.off for each in servers.registry.get(servers.id).servers] == [("t",), ("t",)]
    servers.registry.change_servers(servers.id, lambda configs: configs[1:])
    assert servers.registry.get(servers.id).former_servers == ()
