"""MCP servers that other programs have configured, as drafts for the user to review. Nothing is started here.

What is or could be a secret doesn't get into a draft: its name does, for which the user enters a value.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.domain.errors import InvalidInput, ToolError
from helix_desktop.domain.mcp_server import (
    MAX_SERVERS,
    McpServerConfig,
    suggest_name,
    validate_server,
    with_secrets,
)
from helix_desktop.domain.server_secrets import is_secret_name, plain_name, referenced_names
from helix_desktop.domain.translatable_text import (
    ByteSize,
    TextContext,
    TranslatableText,
    join_sentences,
    system_reason,
    verbatim,
)
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.foreign.discovery import AgentFolders, default_folders
from helix_desktop.foreign.servers import PROJECT_FILES, ServerFile, parse_servers, user_files
from helix_desktop.services.mcp_config import ServerDraft, build_draft
from helix_desktop.system.files import open_regular
from helix_desktop.tools.files.jail import Jail
from helix_desktop.workspaces.registry import WorkspaceRegistry

text = TextContext("MCP")
replace = msgspec.structs.replace

_PROJECT_BYTES = 1024 * 1024  # of a file in a project that is read
_USER_BYTES = 8 * 1024 * 1024  # Claude Code's own file holds much else
_TARGET_CHARS = 8000  # of what a server starts, with its names: more can't be reviewed
_NAME_CHARS = 60
_NO_FILE = (FileNotFoundError, NotADirectoryError)

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_BARE_VARIABLE = re.compile(r"^\$([A-Za-z_]\w*)")


class ForeignServer(msgspec.Struct, frozen=True):
    """A server that `program` has configured in a file: the path, of a project in its folder."""

    draft: ServerDraft
    program: str
    file: str


class UnusableServer(msgspec.Struct, frozen=True):
    """A server, or a whole file without a `name`, that can't be used, and why."""

    file: str
    name: str
    why: TranslatableText


class ForeignServers(msgspec.Struct, frozen=True):
    servers: tuple[ForeignServer, ...] = ()
    unusable: tuple[UnusableServer, ...] = ()


class ForeignServerReader:
    """Reads what other programs have configured for a workspace, and for all projects of the user."""

    def __init__(
        self,
        registry: WorkspaceRegistry,
        open_jail: Callable[[Path], Jail],
        folders: Callable[[], AgentFolders] = default_folders,
    ) -> None:
        self._registry = registry
        self._open_jail = open_jail
        self._folders = folders

    async def read(self, workspace_id: str) -> ForeignServers:
        """Return the servers that the workspace doesn't have yet; none before the user trusts it."""
        record = self._registry.get(workspace_id)
        if not record.trusted:
            return ForeignServers()
        return await asyncio.to_thread(self._read, Path(record.path), record.servers)

    def _read(self, root: Path, configured: Sequence[McpServerConfig]) -> ForeignServers:
        servers: list[ForeignServer] = []
        unusable: list[UnusableServer] = []
        for server in self._read_files(root):
            if isinstance(server, UnusableServer):
                unusable.append(server)
                continue
            config = server.draft.config
            before = [other.draft.config for other in servers]
            is_known = any(_has_same_target(config, other) for other in configured)
            if is_known or any(_target(config) == _target(other) for other in before):
                continue
            name = suggest_name(config.name, tuple(other.name for other in (*configured, *before)))
            draft = replace(server.draft, config=replace(config, name=name))
            servers.append(replace(server, draft=draft))
        return ForeignServers(tuple(servers), tuple(unusable))

    def _read_files(self, root: Path) -> Iterator[ForeignServer | UnusableServer]:
        folders = self._folders()
        jail = self._open_jail(root)
        for file in PROJECT_FILES:
            try:
                with jail.open_file(file.path) as opened:
                    raw = opened.file.read(_PROJECT_BYTES + 1)
            except ToolError as error:
                if not isinstance(error.__cause__, _NO_FILE):
                    yield UnusableServer(file.path, "", verbatim(error.why or error.what))
                continue
            yield from _parse_file(raw, _PROJECT_BYTES, file, file.path, root, folders.home)
        for file in user_files(folders):
            path = file.path.replace(str(folders.home), "~", 1)
            try:
                with open_regular(file.path) as plain:
                    raw = plain.read(_USER_BYTES + 1)
            except OSError as error:
                if not isinstance(error, _NO_FILE):
                    yield UnusableServer(path, "", system_reason(error))
                continue
            yield from _parse_file(raw, _USER_BYTES, file, path, root, folders.home)


def _parse_file(
    raw: bytes, limit: int, file: ServerFile, path: str, root: Path, home: Path
) -> Iterator[ForeignServer | UnusableServer]:
    """Yield the servers in a file, which is shown as `path`; `limit` is in bytes."""
    if len(raw) > limit:
        yield UnusableServer(path, "", text("The file is larger than {limit}.", limit=ByteSize(limit)))
        return
    try:
        servers = parse_servers(raw, file, root)
    except InvalidInput as error:
        yield UnusableServer(path, "", join_sentences(error.what, error.why))
        return
    if len(servers) > MAX_SERVERS:
        why = text("Only the first {count} of its servers are read.", count=MAX_SERVERS)
        yield UnusableServer(path, "", why)
    for key, fields in list(servers.items())[:MAX_SERVERS]:
        name = escape_hidden_name(key[:_NAME_CHARS])
        try:
            yield ForeignServer(_draft(name, fields, root, home), file.program, path)
        except InvalidInput as error:
            yield UnusableServer(path, name, join_sentences(error.what, error.why, error.fix))


def _draft(name: str, fields: Mapping[str, Any], root: Path, home: Path) -> ServerDraft:
    """Return a server without its secrets. Raises InvalidInput for what can't be used, or not be reviewed."""
    if not any(isinstance(fields.get(key), str) for key in ("command", "url", "serverUrl")):
        raise InvalidInput(text("It has neither a command nor an address."))
    places = {"workspaceFolder": root, "CLAUDE_PROJECT_DIR": root, "userHome": home, "HOME": home}
    config = build_draft(name, _in_place(fields, places), ()).config
    words = [config.command, *config.args, config.url, config.cwd]
    names = [*config.env, *config.secret_env, *config.headers, *config.secret_headers]
    if sum(map(len, (*words, *names))) > _TARGET_CHARS:
        raise InvalidInput(text("Its command is too long to be reviewed."))
    if any(escape_hidden_name(word) != word for word in (*words, *names)):
        raise InvalidInput(text("Its command contains invisible characters."))
    referenced = referenced_names(words)
    named = {each: f"${{{each}}}" for each in names if each in referenced}
    config = replace(
        config,
        cwd="" if config.cwd == str(root) else config.cwd,
        env={} if config.url else named,
        headers=named if config.url else {},
        enabled=True,
    )
    config = with_secrets(config, (*names, *referenced))
    faults = validate_server(config)
    if faults:
        raise InvalidInput(join_sentences(*faults.values()))
    return ServerDraft(config, dict.fromkeys(config.secret_names, ""))


def _in_place(fields: Mapping[str, Any], places: Mapping[str, Path]) -> dict[str, Any]:
    """Return a server's fields with the folders that its words name."""
    filled = dict(fields)
    for key in ("command", "url", "serverUrl", "cwd"):
        if isinstance(filled.get(key), str):
            filled[key] = _fill_in(filled[key], places)
    if isinstance(filled.get("args"), list):
        filled["args"] = [_fill_in(str(word), places) for word in filled["args"]]
    return filled


def _fill_in(word: str, places: Mapping[str, Path]) -> str:
    """Return a text with the folders that its variables name, and their defaults; other variables stay."""

    def value(match: re.Match[str]) -> str:
        name, _, default = match[1].partition(":-")
        if name in places:
            return str(places[name])
        return default if default and not is_secret_name(name) else f"${{{plain_name(name)}}}"

    return _VARIABLE.sub(value, _BARE_VARIABLE.sub(r"${\1}", word))


def _target(config: McpServerConfig) -> tuple[str, ...]:
    return (config.url,) if config.url else (config.command, *config.args)


def _has_same_target(foreign: McpServerConfig, config: McpServerConfig) -> bool:
    """Return True if two start, or connect to, the same; whatever was filled in for a placeholder."""
    words = _target(foreign)
    others = _target(config)
    if len(words) != len(others) or ("$" in words[0] and foreign.name != config.name):
        return False
    parts = ((word.partition("$")[0], word.rpartition("}")[2], word) for word in words)
    return all(
        other == word or ("$" in word and other.startswith(start) and other.endswith(end))
        for (start, end, word), other in zip(parts, others, strict=True)
    )
