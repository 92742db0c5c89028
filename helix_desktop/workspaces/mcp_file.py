"""A workspace's mcp.json: its MCP servers, which users also edit by hand, with the names of their secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.domain.decoding_faults import decoding_fault, fault_field
from helix_desktop.domain.errors import SettingsDamaged
from helix_desktop.domain.mcp_server import (
    MAX_SERVERS,
    McpServerConfig,
    in_file,
    validate_server,
    with_secrets,
)
from helix_desktop.domain.server_secrets import SecretWords, is_secret_name, literal_secret, referenced_names
from helix_desktop.domain.translatable_text import OptionalText, TextContext, system_reason
from helix_desktop.system.files import open_regular, write_text_durably
from helix_desktop.workspaces.policy_file import save_error

text = TextContext("MCP")

MCP_FILE = "mcp.json"
_TABLE = "mcpServers"
_COMMENT = "//"
_MAX_BYTES = 1024 * 1024
_NOT_SAVED = text("The MCP servers weren't saved.")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]\n]', re.DOTALL)
_KEY_END = re.compile(r"\s*:")

Place = tuple[str, ...]


class McpEntry(msgspec.Struct, kw_only=True):
    """A server as it is written; keys that other programs have beside these stay in the file."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    secrets: tuple[str, ...] = ()
    quiet_s: int = 60


class _Fault(Exception):
    def __init__(self, why: OptionalText, place: Place = (), line: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.place = place
        self.line = line


class McpFile:
    def __init__(self, folder: Path) -> None:
        """`folder` is the workspace's data folder."""
        self.path = folder / MCP_FILE

    def load(self) -> tuple[McpServerConfig, ...]:
        """Return the servers without their state; none if there is no file.

        Raises SettingsDamaged, which names the line.
        """
        try:
            content = self._read()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._damaged(system_reason(error)) from error
        except UnicodeDecodeError as error:
            raise self._damaged(_not_json(error)) from error
        try:
            return _servers(_decode(content))
        except _Fault as fault:
            line = fault.line or line_of(content, fault.place)
            why = text("Line {line}: {reason}", line=line, reason=fault.why) if line else fault.why
            raise self._damaged(why) from fault

    def save(self, servers: Iterable[McpServerConfig]) -> None:
        """Write servers; what else the file has stays. Raises HelixError; then it is unchanged."""
        present = {config.name: config for config in self.load()}
        document = self._document()
        entries = document.get(_TABLE, {})
        table = {}
        for config in servers:
            entry = entries.get(config.name, {})
            if present.get(config.name) != in_file(config):
                own = _entry_of(config)
                other = {key: value for key, value in entry.items() if key not in McpEntry.__struct_fields__}
                entry = {**own, **other}
            table[config.name] = entry
        self._write({**document, _TABLE: table})

    def create(self, comment: str) -> None:
        """Write a file without servers where none is, with a comment of one line. Raises HelixError."""
        if not self.path.exists():
            self._write({_COMMENT: comment, _TABLE: {}})

    def _document(self) -> dict[str, Any]:
        try:
            return _decode(self._read())
        except FileNotFoundError:
            return {}

    def _read(self) -> str:
        with open_regular(self.path) as file:
            return file.read(_MAX_BYTES + 1).decode("utf-8-sig")

    def _write(self, document: Mapping[str, Any]) -> None:
        try:
            write_text_durably(self.path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        except OSError as error:
            raise save_error(_NOT_SAVED, self.path.parent, error) from error

    def _damaged(self, why: OptionalText) -> SettingsDamaged:
        return SettingsDamaged(
            text("The file {file} has an error.", file=self.path), why, text("Correct the file.")
        )


def line_of(content: str, place: Place) -> int:
    """Return the line of a key, which is in the objects that `place` names; of the nearest one around it.

    It is 0 where not even the first of them is there.
    """
    lines = _key_lines(content)
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, [0])[0]


def _key_lines(content: str) -> dict[Place, list[int]]:
    """Return the lines of all keys, by the keys around them; a key that is there twice has two."""
    lines: dict[Place, list[int]] = {}
    around: list[str] = []
    key = ""
    line = 1
    for match in _TOKEN.finditer(content):
        token = match[0]
        if token == "\n":
            line += 1
        elif token in "{[":
            around.append(key)
            key = ""
        elif token in "}]":
            key = around.pop() if around else ""
        elif _KEY_END.match(content, match.end()):
            key = json.loads(token, strict=False)
            lines.setdefault((*around[1:], key), []).append(line)
    return lines


def _decode(content: str) -> dict[str, Any]:
    if len(content) > _MAX_BYTES:
        raise _Fault(text("The file is larger than 1 MB."))
    try:
        document = json.loads(content or "{}")
    except json.JSONDecodeError as error:
        raise _Fault(text("{reason}.", reason=error.msg), line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise _Fault(_not_json(error)) from error
    if not isinstance(document, dict):
        raise _Fault(text("The file must be a JSON object."), line=1)
    for place, lines in _key_lines(content).items():
        if len(lines) > 1 and place[0] == _TABLE:
            raise _Fault(text("{name} appears twice. Remove one.", name=place[-1]), line=lines[1])
    return document


def _not_json(error: Exception) -> OptionalText:
    return text("It isn't valid JSON: {reason}.", reason=str(error))


def _servers(document: Mapping[str, Any]) -> tuple[McpServerConfig, ...]:
    table = document.get(_TABLE, {})
    if not isinstance(table, dict):
        raise _Fault(text("“{name}” must be an object.", name=_TABLE), (_TABLE,))
    if len(table) > MAX_SERVERS:
        raise _Fault(text("A workspace can have at most {count} servers.", count=MAX_SERVERS), (_TABLE,))
    return tuple(_server(name, entry) for name, entry in table.items())


def _server(name: str, fields: Any) -> McpServerConfig:
    place = (_TABLE, name)
    try:
        entry = msgspec.convert(fields, McpEntry)
    except msgspec.ValidationError as error:
        raise _Fault(decoding_fault(error), (*place, fault_field(error))) from error
    _check_no_secret(entry, place)
    config = _config(name, entry)
    for field, fault in validate_server(config).items():
        raise _Fault(fault, (*place, "url" if field == "reach" and entry.url else field))
    return config


def _config(name: str, entry: McpEntry) -> McpServerConfig:
    pairs = entry.headers if entry.url else entry.env
    placeholders = [
        each
        for each, value in pairs.items()
        if is_secret_name(each) and each not in entry.secrets and not literal_secret(value)
    ]
    plain = {each: value for each, value in pairs.items() if each not in placeholders}
    referenced = referenced_names((entry.command, *entry.args, entry.url, *plain.values()))
    plain |= {each: f"${{{each}}}" for each in placeholders if each in referenced}
    config = McpServerConfig(
        name=name,
        command=entry.command,
        args=entry.args,
        env={} if entry.url else plain,
        cwd=entry.cwd,
        url=entry.url,
        headers=plain if entry.url else {},
        quiet_s=entry.quiet_s,
    )
    return with_secrets(config, (*entry.secrets, *placeholders))


def _check_no_secret(entry: McpEntry, place: Place) -> None:
    """Raise a fault for a secret that is written out: the file has names only."""
    for field, pairs in (("env", entry.env), ("headers", entry.headers)):
        for name, value in pairs.items():
            is_named = any(each in entry.secrets for each in referenced_names([value]))
            if is_secret_name(name) and literal_secret(value) and not is_named:
                named = text(
                    "{name} looks like a secret. List it in “secrets” instead and enter its value in "
                    "Settings → MCP servers.",
                    name=name,
                )
                raise _Fault(named, (*place, field, name))
    for field, words in (("args", entry.args), ("url", (entry.url,))):
        secrets = SecretWords()
        secrets.take_from(words)
        for name in secrets.values:
            in_place = text(
                "{name} looks like a secret. Write {variable} in its place, list {name} in “secrets” and "
                "enter its value in Settings → MCP servers.",
                name=name,
                variable=f"${{{name}}}",
            )
            raise _Fault(in_place, (*place, field))


def _entry_of(config: McpServerConfig) -> dict[str, Any]:
    """Return a server as it is written: what is set, in the order that READMEs have."""
    fields: dict[str, Any] = {
        "command": config.command,
        "args": list(config.args),
        "env": config.env,
        "url": config.url,
        "headers": config.headers,
        "secrets": list(config.secret_names),
        "cwd": config.cwd,
    }
    entry = {name: value for name, value in fields.items() if value}
    if config.quiet_s != McpEntry().quiet_s:
        entry["quiet_s"] = config.quiet_s
    return entry
