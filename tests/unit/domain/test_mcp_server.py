"""What a server's entry binds consent to, its faults, and how a pasted one is parsed."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.mcp_server import McpServerConfig, SignIn, suggest_name, validate_server
from helix_desktop.services.mcp_config import ServerDraft, parse_server_configs
from tests.support.tables import for_each

WORD = st.text(min_size=1, max_size=8)
PAIRS = st.dictionaries(WORD, WORD, max_size=3)
NAMES = st.lists(WORD, max_size=3, unique=True).map(tuple)
ENTRIES = st.builds(
    McpServerConfig,
    name=st.just("x"), command=WORD, args=NAMES, env=PAIRS, secret_env=NAMES, cwd=WORD, url=WORD,
    headers=PAIRS, secret_headers=NAMES, enabled=st.booleans(), off=NAMES,
)  # fmt: skip
CONSENT_FIELDS = ("command", "args", "env", "secret_env", "cwd", "url", "headers", "secret_headers")


@given(ENTRIES, ENTRIES)
def test_consent_covers_everything_that_determines_what_runs(
    config: McpServerConfig, other: McpServerConfig
) -> None:
    """Two entries have one fingerprint exactly when they would start, or connect to, the same thing."""

    def consent_fields(config: McpServerConfig) -> list[object]:
        fields = msgspec.structs.asdict(config)
        return [
            sorted(v) if isinstance(v := fields[key], tuple) and key != "args" else v
            for key in CONSENT_FIELDS
        ]

    assert (config.fingerprint == other.fingerprint) == (consent_fields(config) == consent_fields(other))
    agreed = msgspec.structs.replace(config, approved=config.fingerprint)
    assert agreed.is_consented
    for key in CONSENT_FIELDS:
        swapped = msgspec.structs.replace(agreed, **{key: getattr(other, key)})
        assert swapped.is_consented == (swapped.fingerprint == config.fingerprint)


@for_each(
    ("fields", "field", "message"),
    [
        ({"name": "Has Space", "command": "x"}, "name", "lowercase letters"),
        ({"name": "a__b", "command": "x"}, "name", "lowercase letters"),
        ({"name": "taken", "command": "x"}, "name", "already"),
        ({"name": "x"}, "reach", "Enter a command"),
        ({"name": "x", "command": "a", "url": "https://b"}, "reach", "Enter a command"),
        ({"name": "x", "url": "ftp://b"}, "reach", "must start with"),
        (
            {"name": "x", "url": "http://far.example/mcp", "secret_headers": ("Authorization",)},
            "reach",
            "unencr",
        ),
        ({"name": "x", "command": "a\u202eb"}, "reach", "unprintable"),
        ({"name": "x", "command": "a", "env": {"A B": "c"}}, "env", "isn't a valid variable name"),
        ({"name": "x", "command": "a", "env": {"A": "c"}, "secret_env": ("A",)}, "env", "twice"),
        ({"name": "x", "url": "https://b", "headers": {"X": "a\r\nHost: evil"}}, "headers", "one line"),
        ({"name": "x", "url": "https://b", "headers": {"Host": "evil"}}, "headers", "the protocol sets it"),
    ],
)
def test_invalid_entries_are_reported(fields: dict[str, object], field: str, message: str) -> None:
    """Each fault is reported at its field."""
    faults = validate_server(msgspec.convert(fields, McpServerConfig), ("taken",))
    assert list(faults) == [field]
    assert message in faults[field]


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"]},
        {"url": "https://mcp.example.com/mcp?x=1", "secret_headers": ["Authorization"]},
        {"url": "http://localhost:8000/mcp", "secret_headers": ["Authorization"]},
        {"url": "http://[::1]:8000/"},
        {"url": "http://far.example/mcp"},
    ],
)
def test_commands_and_addresses_are_valid_servers(fields: dict[str, object]) -> None:
    assert validate_server(msgspec.convert({"name": "x-1", **fields}, McpServerConfig)) == {}


@given(
    st.text(max_size=60) | st.text("a_- ", max_size=60),
    st.lists(st.text("ab-1", min_size=1, max_size=3), max_size=4),
)
def test_any_text_becomes_a_valid_name(text: str, taken_names: list[str]) -> None:
    """It is valid and unique."""
    name = suggest_name(text, tuple(taken_names))
    assert not validate_server(McpServerConfig(name=name, command="x"), tuple(taken_names))


CLAUDE = """{"mcpServers": {
  "GitHub": {"command": "docker", "args": ["run", "-i", "ghcr.io/github/github-mcp-server"],
             "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_1234", "GITHUB_HOST": "github.com"}},
  "linear": {"type": "http", "url": "https://mcp.linear.app/mcp", "headers": {"Authorization": "Bearer abc"}},
  "off": {"command": "x", "disabled": true}
}}"""


def test_the_common_json_form_is_parsed() -> None:
    """Servers, arguments, variables; likely secrets are separated from what is stored openly."""
    github, linear, disabled = parse_server_configs(CLAUDE, ("linear",))
    assert github.config == McpServerConfig(
        name="github", command="docker", args=("run", "-i", "ghcr.io/github/github-mcp-server"),
        env={"GITHUB_HOST": "github.com"}, secret_env=("GITHUB_PERSONAL_ACCESS_TOKEN",),
    )  # fmt: skip
    assert github.secrets == {"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_1234"}
    assert (linear.config.name, linear.config.url) == ("linear-2", "https://mcp.linear.app/mcp")
    assert linear.secrets == {"Authorization": "Bearer abc"}
    assert not disabled.config.enabled
    assert all(not draft.config.is_consented for draft in (github, linear, disabled))


@pytest.mark.parametrize(
    ("text", "name", "command", "args"),
    [
        ("npx -y @modelcontextprotocol/server-filesystem /tmp", "filesystem", "npx",
         ("-y", "@modelcontextprotocol/server-filesystem", "/tmp")),
        ("uvx mcp-server-git --repository .", "git", "uvx", ("mcp-server-git", "--repository", ".")),
        ('python3 "my server.py"', "my-server", "python3", ("my server.py",)),
        ("/opt/bin/thing-mcp", "thing", "/opt/bin/thing-mcp", ()),
        ('{"command": "uvx", "args": ["mcp-server-time"]}', "uvx", "uvx", ("mcp-server-time",)),
        ('"time": {"command": "uvx"}', "time", "uvx", ()),
        ('{"servers": {"vs": {"type": "stdio", "command": "x"}}}', "vs", "x", ()),
    ],
)  # fmt: skip
def test_command_lines_and_single_blocks(text: str, name: str, command: str, args: tuple[str, ...]) -> None:
    """Whatever is pasted becomes one server with a descriptive name."""
    (draft,) = parse_server_configs(text)
    assert (draft.config.name, draft.config.command, draft.config.args) == (name, command, args)
    assert not validate_server(draft.config)


def test_a_command_line_means_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """No shell starts the server, so nothing else would put the folder in; a tilde inside a word stays."""
    monkeypatch.setenv("HOME", "/home/user")
    monkeypatch.setenv("USERPROFILE", "/home/user")
    (draft,) = parse_server_configs("server ~/notes a~b")
    assert draft.config.args == ("/home/user/notes", "a~b")


def test_urls_and_variables() -> None:
    """An address alone, and variables before a command."""
    assert parse_server_configs("https://mcp.sentry.dev/mcp") == (
        ServerDraft(McpServerConfig(name="sentry", url="https://mcp.sentry.dev/mcp")),
    )
    (draft,) = parse_server_configs("API_TOKEN=abc LEVEL=2 serve --fast")
    assert draft.config.env == {"LEVEL": "2"}
    assert draft.secrets == {"API_TOKEN": "abc"}


@pytest.mark.parametrize("value", ["${input:key}", "$TOKEN", "<your token>", "YOUR_API_KEY", "Bearer ${X}"])
def test_a_secret_reference_is_asked_for(value: str) -> None:
    """Our own environment is never read for it."""
    (draft,) = parse_server_configs(
        f'{{"x": {{"url": "https://a.b", "headers": {{"Authorization": "{value}"}}}}}}'
    )
    assert draft.secrets == {"Authorization": ""}


@for_each(
    "text", ["", "  ", "{", "{}", '{"a": 1}', "'open", "A=1", '{"command": "x", "args": "no list"}',
             '{"x": {"url": "https://a.b/sse", "type": "sse"}}', '{"x": {"command": "y", "env": ["no"]}}'],
)  # fmt: skip
def test_unparsable_text_is_reported(text: str) -> None:
    """With a remedy."""
    with pytest.raises(InvalidInput) as caught:
        parse_server_configs(text)
    assert caught.value.fix


def test_a_key_in_a_header_or_the_url_takes_the_place_of_a_sign_in() -> None:
    site = McpServerConfig(name="web", url="https://mcp.example.com/@mara")
    assert not site.has_authorization
    assert msgspec.structs.replace(site, headers={"authorization": "Basic eA=="}).has_authorization
    assert msgspec.structs.replace(site, secret_headers=("Authorization",)).has_authorization
    assert msgspec.structs.replace(site, url="https://mara:x@mcp.example.com/mcp").has_authorization


def test_the_tokens_of_a_sign_in_are_in_no_repr() -> None:
    sign_in = SignIn(
        url="https://a/mcp", token_url="https://a/t", client_id="c", access_token="s3", refresh_token="s4"
    )
    assert not {"s3", "s4"} & set(repr(sign_in).split("'"))
    assert sign_in.secrets == {"access_token": "s3", "refresh_token": "s4", "client_secret": ""}
