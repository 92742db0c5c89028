"""Servers as people paste them: a command line, a URL, or the JSON that configures other programs."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from helix_desktop.context.errors import InputUnusable
from helix_desktop.context.mcp_server import MOST_SERVERS, ServerEntry, usable_name

_SECRET = re.compile(
    r"API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH|BEARER|COOKIE"
    r"|[-_]KEY$|[-_]PAT$",
    re.IGNORECASE,
)
_FILLED_IN_ELSEWHERE = re.compile(r"\$\{[^}]*\}|\$[A-Za-z_]\w*|<[^>]*>|your[-_ ].*", re.IGNORECASE)
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_RUNNERS = frozenset(
    {"npx", "uvx", "uv", "bunx", "pnpm", "yarn", "node", "python", "python3", "docker", "deno"}
)
_RUNNERS_WORDS = frozenset({"run", "dlx", "exec", "tool", "x"})
_LISTS = ("mcpServers", "servers", "mcp_servers")
_URLS = ("url", "serverUrl", "httpUrl", "uri")


class Draft(msgspec.Struct, frozen=True):
    """A server as it was pasted; `secrets` holds values by name, empty where one has to be filled in."""

    entry: ServerEntry
    secrets: dict[str, str] = {}


def read_pasted(text: str, taken: tuple[str, ...] = ()) -> tuple[Draft, ...]:
    """The servers that a text describes, under names unlike those `taken`. Raises InputUnusable."""
    text = text.strip()
    if not text:
        raise InputUnusable("There is nothing to add.", fix="Paste a command line, a URL, or a JSON block.")
    if text.startswith(("{", '"')):
        return _from_json(text, taken)
    if re.match(r"https?://", text):
        return (Draft(ServerEntry(name=usable_name(_host(text), taken), url=text)),)
    return (_from_line(text, taken),)


def is_secret(name: str) -> bool:
    """Whether a variable or header of that name usually holds a secret."""
    return bool(_SECRET.search(name))


def _from_line(line: str, taken: tuple[str, ...]) -> Draft:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InputUnusable("This command line cannot be read.", f"{error}.", "Close every quote.") from None
    pairs: dict[str, str] = {}
    while words and (found := _ASSIGNED.fullmatch(words[0])):
        pairs[found[1]] = found[2]
        words = words[1:]
    if not words:
        raise InputUnusable("There is no command.", "Only variables are set.", "Add what is to be started.")
    return _draft(_guess(words), {"command": words[0], "args": words[1:], "env": pairs}, taken)


def _from_json(text: str, taken: tuple[str, ...]) -> tuple[Draft, ...]:
    try:
        found = json.loads(text if text.startswith("{") else f"{{{text}}}")
    except ValueError as error:
        raise InputUnusable("This is no valid JSON.", f"{error}.", "Paste the whole block.") from None
    servers = _servers_in(found)
    if not servers or len(servers) > MOST_SERVERS:
        raise InputUnusable(
            "No server is described here.",
            'Each is to have a "command" or a "url".',
            'Paste the block that begins with "mcpServers".',
        )
    drafts: list[Draft] = []
    for name, given in servers.items():
        others = (*taken, *(one.entry.name for one in drafts))
        drafts.append(_draft(name or _guess([str(given.get("command", ""))]), given, others))
    return tuple(drafts)


def _servers_in(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    for key in _LISTS:
        if isinstance(found.get(key), dict):
            found = found[key]
            break
    if "command" in found or any(key in found for key in _URLS):
        return {str(found.get("name", "")): dict(found)}
    return {str(name): given for name, given in found.items() if isinstance(given, dict) and _reaches(given)}


def _reaches(given: Mapping[str, Any]) -> bool:
    return any(isinstance(given.get(key), str) for key in ("command", *_URLS))


def _draft(name: str, given: Mapping[str, Any], taken: tuple[str, ...]) -> Draft:
    if str(given.get("type", "")).lower() == "sse":
        raise InputUnusable(
            f"The server {name} speaks the old SSE transport.",
            "It was withdrawn from the protocol in 2025.",
            "Give the address of its streamable HTTP endpoint, often the same with /mcp at the end.",
        )
    url = next((str(given[key]) for key in _URLS if isinstance(given.get(key), str)), "")
    pairs = _texts(given.get("headers" if url else "env"), name)
    secrets = {key: _known(value) for key, value in pairs.items() if is_secret(key)}
    open_ones = {key: value for key, value in pairs.items() if key not in secrets}
    args = given.get("args", [])
    if not isinstance(args, list | tuple):
        raise InputUnusable(f'The "args" of {name} are no list.', fix="Write them as a list of texts.")
    entry = ServerEntry(
        name=usable_name(name, taken),
        command="" if url else str(given.get("command", "")),
        args=() if url else tuple(map(str, args)),
        env={} if url else open_ones,
        secret_env=() if url else tuple(secrets),
        cwd=str(given.get("cwd") or ""),
        url=url,
        headers=open_ones if url else {},
        secret_headers=tuple(secrets) if url else (),
        enabled=not given.get("disabled", False),
    )
    return Draft(entry, secrets)


def _known(value: str) -> str:
    """A secret's value; empty for one that only says where it would come from."""
    return "" if _FILLED_IN_ELSEWHERE.fullmatch(value.removeprefix("Bearer ").strip()) else value


def _texts(found: Any, name: str) -> dict[str, str]:
    if found is None:
        return {}
    if not isinstance(found, dict) or any(isinstance(one, dict | list) for one in found.values()):
        raise InputUnusable(
            f"The variables or headers of {name} cannot be read.", fix="Give names with texts."
        )
    return {str(key): str(value) for key, value in found.items()}


def _guess(words: list[str]) -> str:
    """A name for what a command starts: the last part of the first word that is no runner and no option."""
    plain = [word for word in words if not word.startswith("-")]
    while len(plain) > 1 and (_base(plain[0]) in _RUNNERS or plain[0] in _RUNNERS_WORDS):
        plain = plain[1:]
    base = _base(plain[0]) if plain else ""
    return re.sub(r"^(mcp-server-|server-|mcp-)|(-mcp-server|-mcp|-server)$", "", base) or base


def _base(word: str) -> str:
    return re.sub(r"(?<=.)@[^/]*$|\.(py|js|mjs|ts|exe|cmd)$", "", word.rstrip("/").rpartition("/")[2])


def _host(url: str) -> str:
    host = re.sub(r"^https?://(?:[^/@]*@)?", "", url).partition("/")[0].partition(":")[0]
    parts = [part for part in host.split(".") if part not in ("www", "mcp", "api")]
    return parts[-2] if len(parts) > 1 and not host.replace(".", "").isdigit() else host
