"""MCP servers of a workspace: how each is reached, and what the user consented to."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from helix_desktop.domain.server_secrets import fill_in, referenced_names
from helix_desktop.domain.slash_command import split_arguments
from helix_desktop.domain.translatable_text import OptionalText, TextContext

_text = TextContext("MCP")

MAX_SERVERS = 50  # of one workspace; more schemas than that fill no window usefully
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,30}[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # a token of RFC 9110
_HOST = re.compile(r"(https?)://(?:[^/@?#]*@)?(\[[0-9a-fA-F:.]+\]|[^/:?#\s]+)(?::\d{1,5})?(?:[/?][^#\s]*)?")
_USER = re.compile(r"https?://[^/?#]*@")
_LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
_PROTOCOL_HEADERS = frozenset({"accept", "content-type", "content-length", "host", "mcp-session-id"})

McpServerState = Literal[
    "off", "untrusted", "unapproved", "signed_out", "waiting", "starting", "ready", "failed"
]
"""What a server does now: switched off, not allowed to start, about to start, at work, or broken.

`signed_out`: it is reached over HTTP, and answers only after the user has signed in.
"""


class PromptArgument(msgspec.Struct, frozen=True):
    name: str
    description: str = ""
    is_required: bool = False


class ServerPrompt(msgspec.Struct, frozen=True):
    """A prompt that a running server offers; `command` is what the user types for it, without the slash."""

    server: str
    name: str
    command: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()

    @property
    def hint(self) -> str:
        """What may stand behind the command."""
        names = ((argument.name.upper(), argument.is_required) for argument in self.arguments)
        return " ".join(name if is_required else f"[{name}]" for name, is_required in names)

    def read_arguments(self, typed: str) -> dict[str, str]:
        """Return the values in the words behind the command: in order, or as `name=value`.

        Words that are left over belong to the last argument.
        """
        names = [argument.name for argument in self.arguments]
        values: dict[str, str] = {}
        for word in split_arguments(typed):
            name, equals, value = word.partition("=")
            if equals and name in names:
                values[name] = value
            elif free := [name for name in names if name not in values]:
                values[free[0]] = word
            elif names:
                values[names[-1]] += f" {word}"
        return values


class FilledPrompt(msgspec.Struct, frozen=True):
    """A prompt as its server fills it in: the text, files by name, and the names of what was left out."""

    text: str
    files: tuple[tuple[str, bytes], ...] = ()
    left_out: tuple[str, ...] = ()


class ServerResource(msgspec.Struct, frozen=True):
    """A resource that a running server lists."""

    server: str
    uri: str
    title: str
    description: str = ""


class ServerState(msgspec.Struct, frozen=True, kw_only=True):
    """What Helix knows of one MCP server of a workspace, by its name, beside what `mcp.json` has.

    `off` names tools that are not exposed; `approved` is the fingerprint that the user agreed to.
    `known_tools` are those that it offered last, by its own names. `stored_secrets` are the names of all
    secrets that it had.
    What it runs of the workspace when the user agreed, at `approved_ms` (milliseconds since 1970), is in
    `approved_files`, by path: files and links with their digests, folders (with a `/` at their end) with
    those of what is in them. `consent_changes` are paths that changed since: they ended the consent.
    """

    name: str
    enabled: bool = True
    off: tuple[str, ...] = ()
    approved: str = ""
    known_tools: tuple[str, ...] = ()
    approved_ms: int = 0
    approved_files: dict[str, str] = {}
    consent_changes: tuple[str, ...] = ()
    stored_secrets: tuple[str, ...] = ()


class McpServerConfig(ServerState, frozen=True, kw_only=True):
    """One MCP server: a command that speaks over its pipes, or a URL; under a name unique in its workspace.

    `cwd` empty: the workspace's folder. Of `secret_env` and `secret_headers` only the names stand here, the
    values in the keychain. `secret_words` are names of secrets for which `${NAME}` stands in the other words.
    `quiet_s` is how long a call may go without a sign of life.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    secret_env: tuple[str, ...] = ()
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    secret_headers: tuple[str, ...] = ()
    secret_words: tuple[str, ...] = ()
    quiet_s: int = 60

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 of everything that decides what is started, or where requests go."""
        parts: list[object] = [
            self.command,
            list(self.args),
            sorted(self.env.items()),
            sorted(self.secret_env),
            self.cwd,
            self.url,
            sorted(self.headers.items()),
            sorted(self.secret_headers),
        ]
        if self.secret_words:
            parts.append(sorted(self.secret_words))
        text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def is_consented(self) -> bool:
        """Return True if the user consented to exactly this configuration."""
        return self.approved == self.fingerprint

    @property
    def secret_names(self) -> tuple[str, ...]:
        return (*(self.secret_headers if self.url else self.secret_env), *self.secret_words)

    def fill_in(self, secrets: Mapping[str, str]) -> McpServerConfig:
        """Return the server with its secrets in place: only to start it, never to be stored or shown."""
        words = {name: secrets[name] for name in self.secret_words if name in secrets}
        env = {name: fill_in(value, words) for name, value in self.env.items()}
        headers = {name: fill_in(value, words) for name, value in self.headers.items()}
        env |= {name: secrets[name] for name in self.secret_env if name in secrets}
        headers |= {name: secrets[name] for name in self.secret_headers if name in secrets}
        return msgspec.structs.replace(
            self,
            command=fill_in(self.command, words),
            args=tuple(fill_in(word, words) for word in self.args),
            env=env,
            url=fill_in(self.url, words),
            headers=headers,
        )

    @property
    def has_authorization(self) -> bool:
        """Return True if a header or its URL has the key that it asks for: then nobody signs in."""
        names = (*self.headers, *self.secret_headers)
        return any(name.lower() == "authorization" for name in names) or bool(_USER.match(self.url))

    @property
    def target_line(self) -> str:
        """Return what is started, or where requests go, on one line."""
        return self.url or _shell_line((self.command, *self.args))


def with_secrets(config: McpServerConfig, names: Iterable[str]) -> McpServerConfig:
    """Return a server with secrets of these names: those that its words name, others as its variables."""
    pairs = config.headers if config.url else config.env
    words = (config.command, *config.args, config.url, *pairs.values())
    referenced = referenced_names(words)
    unique = tuple(dict.fromkeys(names))
    alone = tuple(name for name in unique if name not in referenced)
    return msgspec.structs.replace(
        config,
        secret_env=() if config.url else alone,
        secret_headers=alone if config.url else (),
        secret_words=tuple(name for name in unique if name in referenced),
    )


def in_file(config: McpServerConfig) -> McpServerConfig:
    """Return a server as `mcp.json` has it, without its state."""
    return with_state(config, ServerState(name=config.name))


def state_of(config: McpServerConfig) -> ServerState:
    """Return the state of a server, which knows the names of its secrets from now on."""
    fields = {name: getattr(config, name) for name in ServerState.__struct_fields__}
    fields["stored_secrets"] = tuple(dict.fromkeys((*config.stored_secrets, *config.secret_names)))
    return ServerState(**fields)


def with_state(config: McpServerConfig, state: ServerState) -> McpServerConfig:
    return msgspec.structs.replace(config, **msgspec.structs.asdict(state))


SIGN_IN_SECRETS = ("access_token", "refresh_token", "client_secret")
"""The fields of a sign-in that only the keychain has."""


class SignIn(msgspec.Struct, frozen=True, kw_only=True):
    """What the user's sign-in at an MCP server gave us (OAuth 2.1), good for the server at `url` only.

    `token_url` refreshes the access token, which expires at `expires_ms` (milliseconds since 1970; 0: it
    isn't known); `client_auth` is how we prove there who we are. `resource` and `scope` are what it is for.
    `needed_scope` is what the server asked for since: the next sign-in asks for it.
    """

    url: str
    token_url: str
    client_id: str
    client_auth: str = "none"
    resource: str = ""
    scope: str = ""
    needed_scope: str = ""
    expires_ms: int = 0
    access_token: str
    refresh_token: str = ""
    client_secret: str = ""

    def __repr__(self) -> str:
        return f"SignIn({self.url!r})"  # the tokens are in no repr

    @property
    def secrets(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in SIGN_IN_SECRETS}


def _shell_line(argv: tuple[str, ...]) -> str:
    """Return arguments as a user would type them; those that are not plain are JSON-quoted."""
    plain = re.compile(r"[A-Za-z0-9_@%+=:,./~-]+")
    return " ".join(word if plain.fullmatch(word) else json.dumps(word) for word in argv)


def validate_server(config: McpServerConfig, used_names: tuple[str, ...] = ()) -> dict[str, OptionalText]:
    """Return the faults of a configuration, by field; `used_names` are the names already taken."""
    faults: dict[str, OptionalText] = {
        "name": _name_fault(config.name, used_names),
        "reach": _reach_fault(config),
        "env": _variable_fault(config) or _pairs_fault(config.env, config.secret_env),
        "headers": _header_fault(config) or _pairs_fault(config.headers, config.secret_headers),
    }
    return {field: fault for field, fault in faults.items() if fault}


def suggest_name(text: str, used_names: tuple[str, ...] = ()) -> str:
    plain = re.sub(r"_{2,}|[^a-z0-9_-]+", "-", text.lower()).strip("-_")[:32].strip("-_") or "server"
    name = plain
    number = 2
    while name in used_names:
        name = f"{plain[:28]}-{number}"
        number = number + 1
    return name


def _name_fault(name: str, used_names: tuple[str, ...]) -> OptionalText:
    if not _NAME.fullmatch(name) or "__" in name:
        return _text(
            "Use 1 to 32 lowercase letters, digits, - and single _. Start and end with a letter or digit."
        )
    return _text("A server named {name} already exists.", name=name) if name in used_names else ""


def _reach_fault(config: McpServerConfig) -> OptionalText:
    if bool(config.url) == bool(config.command):
        return _text("Enter a command to start, or the https:// address of a running server.")
    if not config.url:
        clean = all(word.isprintable() for word in (config.command, config.cwd))
        if clean and "\0" not in "".join(config.args):
            return ""
        return _text("The command contains unprintable characters.")
    match = _HOST.fullmatch(config.url)
    if match is None:
        return _text("The address must start with http:// or https://.")
    if match[1] == "http" and match[2].lower() not in _LOOPBACK_HOSTS and config.secret_names:
        return _text("Secrets would be sent unencrypted. Use https://, or http:// only on this computer.")
    return ""


def _variable_fault(config: McpServerConfig) -> OptionalText:
    invalid = _first_invalid((*config.env, *config.secret_env), _VARIABLE)
    return "" if invalid is None else _text("{name} isn't a valid variable name.", name=repr(invalid[:40]))


def _header_fault(config: McpServerConfig) -> OptionalText:
    reserved = sorted(
        name for name in (*config.headers, *config.secret_headers) if name.lower() in _PROTOCOL_HEADERS
    )
    if reserved:
        return _text("Remove the header {name}: the protocol sets it.", name=reserved[0])
    invalid = _first_invalid((*config.headers, *config.secret_headers), _HEADER)
    return "" if invalid is None else _text("{name} isn't a valid header name.", name=repr(invalid[:40]))


def _first_invalid(names: tuple[str, ...], pattern: re.Pattern[str]) -> str | None:
    return next((name for name in names if not pattern.fullmatch(name)), None)


def _pairs_fault(pairs: dict[str, str], secret: tuple[str, ...]) -> OptionalText:
    for name in (*pairs, *secret):
        if name in pairs and name in secret:
            return _text("{name} appears twice. Remove one.", name=name)
        if any(sign in pairs.get(name, "") for sign in "\r\n\0"):
            return _text("The value of {name} must be on one line.", name=name)
    return ""
