"""MCP servers in other programs' files: what is taken, that no value is, and what no file can do."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.foreign.discovery import AgentFolders
from helix_desktop.foreign.servers import PROJECT_FILES, REFERENCE, ServerFile, parse_servers, user_files

CLAUDE, CODEX, VS_CODE, _ = PROJECT_FILES
HERE = Path("/home/mara/app")
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
FIELDS = st.dictionaries(
    st.sampled_from(
        ["command", "args", "env", "url", "headers", "cwd", "type", "env_vars", "http_headers",
         "env_http_headers", "bearer_token_env_var"]
    ),
    JSON_VALUES,
)  # fmt: skip


def parse(content: str, file: ServerFile = CLAUDE) -> dict[str, dict[str, Any]]:
    return parse_servers(content.encode(), file, HERE)


@given(st.binary(max_size=200), st.sampled_from(PROJECT_FILES))
@example(b"[" * 100_000, CLAUDE)
@example(b"a = " + b"[" * 100_000, CODEX)
@example(b"\xff\xfe", VS_CODE)
@example(b"[1]", VS_CODE)
@example(b'{"servers": [1], "projects": 2}', VS_CODE)
@example(b"1" * 5000, CLAUDE)
def test_no_bytes_break_the_reader(raw: bytes, file: ServerFile) -> None:
    """They are servers, or refused."""
    try:
        servers = parse_servers(raw, file, HERE)
    except InvalidInput:
        return
    assert all(isinstance(config, dict) for config in servers.values())


@given(st.dictionaries(st.text(max_size=8), FIELDS | JSON_VALUES, max_size=3))
def test_no_fields_break_the_reader_and_no_value_comes_through(servers: dict[str, Any]) -> None:
    found = parse(json.dumps({"mcpServers": servers}))
    for config in found.values():
        assert {*config["env"].values(), *config["headers"].values()} <= {"", REFERENCE}


@pytest.mark.parametrize("unit", ['"', "/*", "//", '\\"', ",", ", ", '"\\'])
def test_a_hostile_file_takes_no_long_time(unit: str) -> None:
    """No part of it is looked at again and again."""
    begin = time.perf_counter()
    with pytest.raises(InvalidInput):
        parse("{" + unit * (500_000 // len(unit)), VS_CODE)
    assert time.perf_counter() - begin < 5, "it would take hours"


def test_a_key_of_very_many_parts_is_not_read() -> None:
    """The time for it grows with their square: a file of 1 MB would take minutes."""
    with pytest.raises(InvalidInput, match="A line has more than 100 dots"):
        parse(f"a{'.a' * 101} = 1", CODEX)
    assert parse(f'[mcp_servers.x]\ncommand = "a{".a" * 99}"', CODEX)["x"]["command"].startswith("a.a")


def test_comments_and_last_commas_of_vs_code() -> None:
    """Those in strings stay; an error names the line in the file."""
    found = parse(
        """// mine
        {"servers": { /* two
          lines */ "a": {"command": "x", "args": ["https://b/,]", "/* no */", "\\"//",],},
        }}""",
        VS_CODE,
    )
    assert found["a"]["args"] == ["https://b/,]", "/* no */", '"//']
    with pytest.raises(InvalidInput, match="line 3"):
        parse('/* one\n two */ {\n"a" 1}', VS_CODE)


def test_codex_has_names_of_its_own() -> None:
    found = parse(
        """
        [mcp_servers.docs]
        command = "docs"
        env_vars = ["HOME_TOKEN", {name = "OTHER", source = "remote"}]
        env = {LEVEL = "debug-value"}
        [mcp_servers.figma]
        url = "https://mcp.figma.com/mcp"
        bearer_token_env_var = "FIGMA"
        http_headers = {X-Region = "us-value"}
        env_http_headers = {X-Team = "TEAM"}
        """,
        CODEX,
    )
    assert found["docs"]["env"] == {"LEVEL": "", "HOME_TOKEN": REFERENCE, "OTHER": REFERENCE}
    assert found["figma"]["headers"] == {"X-Region": "", "X-Team": REFERENCE, "Authorization": REFERENCE}
    assert "value" not in str(found)


def test_claude_code_has_servers_of_one_folder() -> None:
    """Those come in place of the user's of the same name; those of other folders don't count."""
    content = json.dumps(
        {
            "mcpServers": {"a": {"command": "all"}, "b": {"command": "all"}},
            "projects": {
                str(HERE): {"mcpServers": {"a": {"command": "here"}}},
                "/elsewhere": {"mcpServers": {"c": {"command": "there"}}},
            },
        }
    )
    assert {name: config["command"] for name, config in parse(content).items()} == {"a": "here", "b": "all"}


def test_where_the_users_files_are() -> None:
    home = Path("/home/mara")
    paths = [file.path for file in user_files(AgentFolders(home, {}, "linux"))]
    named = AgentFolders(home, {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x"}, "linux")
    for path in (".claude.json", ".codex/config.toml", ".config/Code/User/mcp.json", ".cursor/mcp.json"):
        assert str(home / path) in paths
    assert {str(Path("/c/.claude.json")), str(Path("/x/config.toml"))} < {
        file.path for file in user_files(named)
    }


def test_a_byte_order_mark_is_no_error() -> None:
    raw = b"\xef\xbb\xbf" + msgspec.json.encode({"mcpServers": {"a": {"url": "https://b"}}})
    assert parse_servers(raw, CLAUDE, HERE)["a"]["url"] == "https://b"
