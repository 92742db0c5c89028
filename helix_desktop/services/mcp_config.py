"""MCP servers as people paste them, a command line, a URL or JSON; and the status of one for the user."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.mcp_server import (
    MAX_SERVERS,
    McpServerConfig,
    McpServerState,
    suggest_name,
    with_secrets,
)
from helix_desktop.domain.server_secrets import (
    SecretWords,
    is_secret_name,
    literal_secret,
    referenced_names,
)
from helix_desktop.domain.translatable_text import TextContext

text = TextContext("MCP")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_RUNNERS = frozenset(
    {"npx", "uvx", "uv", "bunx", "pnpm", "yarn", "node", "python", "python3", "docker", "deno"}
)
_RUNNERS_WORDS = frozenset({"run", "dlx", "exec", "tool", "x"})
_LISTS = ("mcpServers", "servers", "mcp_servers")
_URLS = ("url", "serverUrl", "httpUrl", "uri")


class ServerDraft(msgspec.Struct, frozen=True):
    """A server as it was pasted; `secrets` holds values by name, empty where one has to be entered."""

    config: McpServerConfig
    secrets: dict[str, str] = {}

    @property
    def missing_secrets(self) -> tuple[str, ...]:
        return tuple(name for name, value in self.secrets.items() if not value)


def parse_server_configs(pasted: str, used_names: tuple[str, ...] = ()) -> tuple[ServerDraft, ...]:
    """Parse the servers that a text describes; their names differ from `used_names`. Raises InvalidInput."""
    pasted = pasted.strip()
    if not pasted:
        raise InvalidInput(text("Nothing to add."), fix=text("Paste a command line, a URL, or a JSON block."))
    if pasted.startswith(("{", '"')):
        return _from_json(pasted, used_names)
    if re.match(r"https?://", pasted):
        return (build_draft(_host(pasted), {"url": pasted}, used_names),)
    return (_from_line(pasted, used_names),)


def _from_line(line: str, used_names: tuple[str, ...]) -> ServerDraft:
    try:
        argv = shlex.split(line)
    except ValueError as error:
        raise InvalidInput(
            text("The command line can't be read."),
            text("{reason}.", reason=str(error)),
            text("Close every quote."),
        ) from None
    pairs: dict[str, str] = {}
    while argv and (match := _ASSIGNED.fullmatch(argv[0])):
        pairs[match[1]] = match[2]
        argv = argv[1:]
    argv = [os.path.expanduser(word) for word in argv]  # as a shell would: no shell starts the server
    if not argv:
        raise InvalidInput(
            text("The command is missing."),
            text("The line only sets variables."),
            text("Add the command to start."),
        )
    return build_draft(_guess_name(argv), {"command": argv[0], "args": argv[1:], "env": pairs}, used_names)


def _from_json(block: str, used_names: tuple[str, ...]) -> tuple[ServerDraft, ...]:
    try:
        data = json.loads(block if block.startswith("{") else f"{{{block}}}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            text("The block isn't valid JSON."),
            text("{reason}.", reason=str(error)),
            text("Paste the whole block."),
        ) from None
    servers = _servers_in(data)
    if len(servers) > MAX_SERVERS:
        raise InvalidInput(
            text("A workspace can have at most {count} servers.", count=MAX_SERVERS),
            text("The block has {count}.", count=len(servers)),
            text("Paste fewer."),
        )
    if not servers:
        raise InvalidInput(
            text("The block doesn't describe a server."),
            text('Each server needs a "command" or a "url".'),
            text('Paste the block that starts with "mcpServers".'),
        )
    drafts: list[ServerDraft] = []
    for name, config in servers.items():
        taken_names = (*used_names, *(draft.config.name for draft in drafts))
        drafts.append(build_draft(name or _guess_name([str(config.get("command", ""))]), config, taken_names))
    return tuple(drafts)


def _servers_in(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    for key in _LISTS:
        if isinstance(data.get(key), dict):
            data = data[key]
            break
    if "command" in data or any(key in data for key in _URLS):
        return {str(data.get("name", "")): dict(data)}
    return {
        str(name): config for name, config in data.items() if isinstance(config, dict) and _is_server(config)
    }


def _is_server(config: Mapping[str, Any]) -> bool:
    return any(isinstance(config.get(key), str) for key in ("command", *_URLS))


def build_draft(name: str, config: Mapping[str, Any], used_names: tuple[str, ...]) -> ServerDraft:
    if str(config.get("type", "")).lower() == "sse":
        raise InvalidInput(
            text("The server {name} uses the old SSE transport.", name=name),
            text("MCP replaced it in 2025."),
            text("Use its streamable HTTP address, which often ends in /mcp."),
        )
    url = next((str(config[key]) for key in _URLS if isinstance(config.get(key), str)), "")
    pairs = _string_pairs(config.get("headers" if url else "env"), name)
    secrets = {key: literal_secret(value) for key, value in pairs.items() if is_secret_name(key)}
    plain = {key: value for key, value in pairs.items() if key not in secrets}
    args = config.get("args", [])
    if not isinstance(args, list | tuple):
        raise InvalidInput(
            text('The "args" of {name} must be a list.', name=name),
            fix=text('Write them as a list, such as ["--port", "8080"].'),
        )
    command = "" if url else str(config.get("command", ""))
    found = SecretWords(secrets)
    clean = found.take_from([command, *map(str, [] if url else args)])
    clean_url = found.take_from_word(url)
    referenced = referenced_names((*clean, clean_url, *plain.values()))
    plain |= {key: f"${{{key}}}" for key in secrets if key in referenced}
    values = {**secrets, **found.values}
    server = McpServerConfig(
        name=suggest_name(name, used_names),
        command=clean[0],
        args=clean[1:],
        env={} if url else plain,
        cwd=str(config.get("cwd") or ""),
        url=clean_url,
        headers=plain if url else {},
        enabled=not config.get("disabled", False),
    )
    return ServerDraft(with_secrets(server, values), values)


def _string_pairs(pairs: Any, name: str) -> dict[str, str]:
    if pairs is None:
        return {}
    if not isinstance(pairs, dict) or any(isinstance(item, dict | list) for item in pairs.values()):
        raise InvalidInput(
            text("The variables or headers of {name} can't be read.", name=name),
            fix=text('Write each as "NAME": "value".'),
        )
    return {str(key): str(value) for key, value in pairs.items()}


def _guess_name(argv: list[str]) -> str:
    """Guess a server's name: the last part of the first word that is no runner and no option."""
    plain = [word for word in argv if not word.startswith("-")]
    while len(plain) > 1 and (_base_name(plain[0]) in _RUNNERS or plain[0] in _RUNNERS_WORDS):
        plain = plain[1:]
    base = _base_name(plain[0]) if plain else ""
    return re.sub(r"^(mcp-server-|server-|mcp-)|(-mcp-server|-mcp|-server)$", "", base) or base


def _base_name(word: str) -> str:
    return re.sub(r"(?<=.)@[^/]*$|\.(py|js|mjs|ts|exe|cmd)$", "", word.rstrip("/").rpartition("/")[2])


def _host(url: str) -> str:
    host = re.sub(r"^https?://(?:[^/@]*@)?", "", url).partition("/")[0].partition(":")[0]
    parts = [part for part in host.split(".") if part not in ("www", "mcp", "api")]
    return parts[-2] if len(parts) > 1 and not host.replace(".", "").isdigit() else host


class McpToolStatus(msgspec.Struct, frozen=True):
    """A tool of a server: its own name, description, tokens in every request, whether it is enabled.

    `is_read_only` is the server's own claim that it changes nothing; `refusal`: why it is never exposed.
    """

    tool: str
    description: str
    tokens: int
    is_enabled: bool
    is_read_only: bool = False
    refusal: str = ""


class McpServerStatus(msgspec.Struct, frozen=True):
    """A server: its configuration, state and why, the name it gives itself, its tools, the end of its log.

    `retry_in_s`: a failed server is retried this many seconds after it failed. `missing_secrets` have no
    value now. `is_signed_in`: the user's sign-in at it is kept. `start_files` are what one that needs the
    user's consent runs of the workspace: files, and folders with a `/` at their end. `defers_tools`: requests
    only name its tools.
    """

    config: McpServerConfig
    state: McpServerState
    why: str = ""
    retry_in_s: float = 0.0
    reported_name: str = ""
    tools: tuple[McpToolStatus, ...] = ()
    log: str = ""
    missing_secrets: tuple[str, ...] = ()
    is_signed_in: bool = False
    start_files: tuple[str, ...] = ()
    defers_tools: bool = False

    @property
    def exposed_tools(self) -> tuple[McpToolStatus, ...]:
        return tuple(tool for tool in self.tools if tool.is_enabled and not tool.refusal)

    @property
    def tokens(self) -> int:
        """Return what its tools cost in every request, in tokens by our count."""
        return sum(tool.tokens for tool in self.exposed_tools)
