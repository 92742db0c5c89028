"""MCP servers in the settings of other programs: which files have some, and what is taken from such a file.

Values of environment variables and headers are left out here, so nothing above can store or show them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.foreign.discovery import AgentFolders
from helix_desktop.foreign.items import as_dict, as_list, as_text

text = TextContext("MCP")

# Each also matches what has no end, so that none of a hostile file is read twice.
_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"?|,(?=\s*[}\]])', re.DOTALL)
_VISIBLE = re.compile(r"\S")
_REFERENCE = re.compile(r"(?:\w+\s+)?\$(?:\{|[A-Za-z_])")
_KEYS = ("type", "command", "args", "cwd", "url", "serverUrl")

_MAX_DOTS = 100  # of a line: the time for a key with dots grows with the square of their number

REFERENCE = "$"
"""Stands for a value that a file only refers to; an empty text for one that it has."""


class ServerFile(msgspec.Struct, frozen=True):
    """A file with servers: whose it is, its path (of a project: in its folder), the name of their table."""

    program: str
    path: str
    table: str


PROJECT_FILES = (
    ServerFile("Claude Code", ".mcp.json", "mcpServers"),
    ServerFile("Codex", ".codex/config.toml", "mcp_servers"),
    ServerFile("VS Code", ".vscode/mcp.json", "servers"),
    ServerFile("Cursor", ".cursor/mcp.json", "mcpServers"),
)


def user_files(folders: AgentFolders) -> Iterator[ServerFile]:
    """Yield the files that hold for all projects of the user."""
    claude = folders.environ.get("CLAUDE_CONFIG_DIR", "").partition(",")[0]
    places: list[tuple[str, Path, str]] = [
        ("Claude Code", Path(claude or folders.home) / ".claude.json", "mcpServers"),
        ("Codex", folders.codex_home() / "config.toml", "mcp_servers"),
        *(("VS Code", user / "mcp.json", "servers") for user in folders.editors()),
        ("Cursor", folders.home / ".cursor" / "mcp.json", "mcpServers"),
    ]
    for program, path, table in places:
        yield ServerFile(program, str(path), table)


def parse_servers(raw: bytes, file: ServerFile, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the servers in a file by name, as "mcpServers" has them, without any values.

    Of Claude Code's own file also those that it uses in `folder` only. Raises InvalidInput.
    """
    data = _decode(raw, file.path)
    projects = as_dict(data.get("projects"))
    here = as_dict(projects.get(str(folder)) or projects.get(folder.as_posix()))
    servers = {**as_dict(data.get(file.table)), **as_dict(here.get(file.table))}
    return {name: _without_values(as_dict(config)) for name, config in servers.items()}


def _decode(raw: bytes, path: str) -> dict[str, Any]:
    try:
        content = raw.decode("utf-8-sig")
        if path.endswith(".toml"):
            if any(line.count(".") > _MAX_DOTS for line in content.splitlines()):
                raise ValueError(f"A line has more than {_MAX_DOTS} dots")
            return tomllib.loads(content)
        try:
            data = json.loads(content)
        except ValueError:  # VS Code's has comments, and commas at the end
            data = json.loads(_LAST_COMMA.sub(_blank, _COMMENT.sub(_blank, content)))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            text("The file isn't valid {format}.", format="TOML" if path.endswith(".toml") else "JSON"),
            text("{reason}.", reason=escape_hidden_name(str(error))),
        ) from None
    return as_dict(data)


def _blank(match: re.Match[str]) -> str:
    """Return a text as it is, and spaces for anything else: what follows keeps its line and column."""
    return match[0] if match[0].startswith('"') else _VISIBLE.sub(" ", match[0])


def _without_values(config: dict[str, Any]) -> dict[str, Any]:
    """Return what of a server is taken. Codex has names of its own for some of it.

    A value becomes REFERENCE if it stands elsewhere: in the environment, or with what VS Code asks for.
    """
    env_names = (
        as_text(entry) or as_text(as_dict(entry).get("name")) for entry in as_list(config.get("env_vars"))
    )
    variables = {**_blank_values(config.get("env")), **dict.fromkeys(filter(None, env_names), REFERENCE)}
    headers = {
        **_blank_values(config.get("headers")),
        **_blank_values(config.get("http_headers")),
        **dict.fromkeys(as_dict(config.get("env_http_headers")), REFERENCE),
        **({"Authorization": REFERENCE} if config.get("bearer_token_env_var") else {}),
    }
    return {**{key: config[key] for key in _KEYS if key in config}, "env": variables, "headers": headers}


def _blank_values(pairs: object) -> dict[str, str]:
    return {
        name: REFERENCE if _REFERENCE.match(as_text(value)) else "" for name, value in as_dict(pairs).items()
    }
