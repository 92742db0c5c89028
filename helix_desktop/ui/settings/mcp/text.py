"""What the page of MCP servers says: a report as text, and fields as a draft. No Qt."""

from __future__ import annotations

import re
import shlex

from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.text_format import pluralize
from helix_desktop.services.mcp.config_import import ServerDraft, is_secret_name, parse_server_configs
from helix_desktop.services.mcp.status import McpServerStatus
from helix_desktop.words.numbers import format_tokens

_VARIABLE = re.compile(r"\s*([^=:\s]+)\s*[=:]\s?(.*)")
_STATES = {
    "ready": "Ready", "starting": "Starting…", "waiting": "About to start…", "failed": "Failed", "off": "Off",
    "unapproved": "Changed · waits for your consent", "untrusted": "The folder is not trusted",
}  # fmt: skip
STATE_COLORS = {
    "ready": "ok", "starting": "accent", "waiting": "accent", "failed": "error", "unapproved": "warn",
    "untrusted": "warn", "off": "faint",
}  # fmt: skip


def state_text(report: McpServerStatus) -> str:
    """Return the state in a few words."""
    if report.state == "waiting" and report.why:
        return "Starting again…"
    if report.state == "failed" and report.retry_in_s:
        return f"Failed · next try within {report.retry_in_s:g} s"
    return _STATES[report.state]


def with_break_points(name: str) -> str:
    """Return a name that may be broken after each underscore."""
    return name.replace("_", "_\u200b")


def cost_text(report: McpServerStatus) -> str:
    """Return how many tools the model sees, and what they cost; empty when nothing is known of them."""
    if not report.tools:
        return "no tools" if report.state == "ready" else ""
    exposed, total = len(report.exposed_tools), len(report.tools)
    tools = pluralize(total, "tool") if exposed == total else f"{exposed} of {pluralize(total, 'tool')}"
    return f"{tools} · {format_tokens(report.tokens)} tokens in each request"


def total_text(reports: tuple[McpServerStatus, ...]) -> str:
    """Return what all servers together cost."""
    exposed, tokens = (
        sum(len(report.exposed_tools) for report in reports),
        sum(report.tokens for report in reports),
    )
    return f"{pluralize(exposed, 'tool')}, {format_tokens(tokens)} tokens in each request" if exposed else ""


def consent_text(entry: McpServerConfig, folder: str) -> tuple[str, str]:
    """Return what the user is to agree to: in a sentence, and exactly."""
    pairs, secret = (entry.headers, entry.secret_headers) if entry.url else (entry.env, entry.secret_env)
    variables = [
        *(f"{key}={value}" for key, value in pairs.items()),
        *(f"{key}=••• (kept)" for key in secret),
    ]
    exactly = "\n".join([entry.target_line, *variables])
    if entry.url:
        return (
            "It would connect to this address, with these headers:" if variables else "It would connect to:",
            exactly,
        )
    where = f"It would start in {entry.cwd or folder}, with your rights and outside the sandbox:"
    return where, exactly


def endpoint_text(entry: McpServerConfig) -> str:
    """Return the command line, or the URL, to be edited; a quoted line reads back as the same words."""
    return entry.url or shlex.join((entry.command, *entry.args)) if entry.command or entry.url else ""


def variables_text(entry: McpServerConfig) -> str:
    """Variables or headers as lines."""
    pairs = entry.headers if entry.url else entry.env
    return "\n".join(f"{name}={value}" for name, value in pairs.items())


def parse_draft(name: str, endpoint: str, cwd: str, variables: str, secrets: dict[str, str]) -> ServerDraft:
    """Return what the fields of a form describe; empty values among `secrets` keep what is stored.

    Variables with the name of a secret become one. Raises InvalidInput.
    """
    (read,) = parse_server_configs(endpoint) if endpoint.strip() else (ServerDraft(McpServerConfig(name="")),)
    variable_values = {**read.entry.env, **_parse_variables(variables)}
    hidden = {key: value for key, value in variable_values.items() if is_secret_name(key)}
    values = {**read.secrets, **secrets, **hidden}
    plain = {key: value for key, value in variable_values.items() if key not in values}
    over_http = bool(read.entry.url)
    entry = McpServerConfig(
        name=name.strip(),
        command=read.entry.command,
        args=read.entry.args,
        env={} if over_http else plain,
        secret_env=() if over_http else tuple(values),
        cwd="" if over_http else cwd.strip(),
        url=read.entry.url,
        headers=plain if over_http else {},
        secret_headers=tuple(values) if over_http else (),
    )
    return ServerDraft(entry, values)


def _parse_variables(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        pair = _VARIABLE.fullmatch(line)
        if pair is None:
            raise InvalidInput(
                f"{line.strip()[:60]!r} is no variable.", fix="Write NAME=value, one per line."
            )
        values[pair[1]] = pair[2].strip()
    return values


def error_text(error: HelixError) -> str:
    """Return an error on one line."""
    return " ".join(part for part in (error.what, error.why, error.fix) if part)
