"""What the page of MCP servers says: a report as text, and fields as a draft. No Qt."""

from __future__ import annotations

import re
import shlex

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.services.mcp_config import (
    McpServerStatus,
    ServerDraft,
    is_secret_name,
    parse_server_configs,
)
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: MCP")
text = TextContext("Settings: MCP")
_NAMED_FILES = 4
_VARIABLE = re.compile(r"\s*([^=:\s]+)\s*[=:]\s?(.*)")

_STATES = {
    "ready": text("Ready"), "starting": text("Starting…"), "waiting": text("Waiting to start"),
    "failed": text("Failed"), "off": text("Off"), "unapproved": text("Needs your approval"),
    "signed_out": text("Sign-in needed"),
    "untrusted": text("Folder not trusted"),
}  # fmt: skip
STATE_COLORS = {
    "ready": "ok", "starting": "accent", "waiting": "accent", "failed": "error", "unapproved": "warn",
    "signed_out": "warn",
    "untrusted": "warn", "off": "faint",
}  # fmt: skip


def state_text(report: McpServerStatus) -> str:
    if report.state == "waiting" and report.why:
        return tr("Restarting…")
    if report.state == "failed" and report.retry_in_s:
        return tr("Failed · retrying within {seconds} s", seconds=f"{report.retry_in_s:g}")
    return translate(_STATES[report.state])


def with_break_points(name: str) -> str:
    """Return a name that may be broken after each underscore."""
    return name.replace("_", "_\u200b")


def secret_values_text(storage: str) -> str:
    """Return which values are secrets, and where they are kept: `storage` says it."""
    if not storage:
        return tr("Values of names like API_KEY or TOKEN are kept as secrets, not in a file.")
    return join_sentences(tr("Values of names like API_KEY or TOKEN are secrets."), storage)


def tools_cost_text(report: McpServerStatus) -> str:
    """Return how many tools the model sees, and what they cost; empty when nothing is known of them."""
    if not report.tools:
        return tr("no tools") if report.state == "ready" else ""
    exposed, total = len(report.exposed_tools), len(report.tools)
    tools = (
        tr.plural(total, "%n tool", "%n tools")
        if exposed == total
        else tr.plural(total, "{exposed} of %n tool", "{exposed} of %n tools", exposed=exposed)
    )
    return f"{tools} · {_tokens_text(report.tokens, report.defers_tools)}"


def servers_total_text(reports: tuple[McpServerStatus, ...]) -> str:
    exposed, tokens = (
        sum(len(report.exposed_tools) for report in reports),
        sum(report.tokens for report in reports),
    )
    if not exposed:
        return ""
    defers_tools = any(report.defers_tools for report in reports)
    return f"{tr.plural(exposed, '%n tool', '%n tools')} · {_tokens_text(tokens, defers_tools)}"


def _tokens_text(tokens: int, defers_tools: bool) -> str:
    """Return what tools cost; with `defers_tools` the agent looks up the rest of what it needs."""
    if defers_tools:
        return tr("only names in requests, ≈ {tokens} tokens in each", tokens=format_tokens(tokens))
    return tr("≈ {tokens} tokens in each request", tokens=format_tokens(tokens))


def token_count_tip() -> str:
    """Return whose count the tokens of tools are."""
    return tr("Counted by Helix. The context panel shows the count that the model of the session reports.")


def consent_text(config: McpServerConfig, folder: str) -> tuple[str, str]:
    """Return what the user is to agree to: in a sentence, and exactly."""
    pairs, secret = (config.headers, config.secret_headers) if config.url else (config.env, config.secret_env)
    variables = [
        *(f"{key}={value}" for key, value in pairs.items()),
        *(tr("{name}=••• (saved)", name=key) for key in secret),
    ]
    exactly = "\n".join([config.target_line, *variables])
    if config.url:
        summary = tr("Connects to this address with these headers:") if variables else tr("Connects to:")
        return summary, exactly
    summary = tr("Starts in {folder}, with your rights and outside the sandbox:", folder=config.cwd or folder)
    return summary, exactly


def consent_reason_text(config: McpServerConfig) -> str:
    if not config.consent_changes:
        return tr("This configuration hasn't been approved.")
    files = tuple(map(escape_invisible, config.consent_changes[:_NAMED_FILES]))
    if not config.approved_ms:
        return tr("Helix now checks the files of the workspace that a server runs: {files}.", files=files)
    more = len(config.consent_changes) - len(files)
    changed = tr("Files that it runs have changed since you approved it: {files}.", files=files)
    return join_sentences(changed, tr.plural(more, "%n more.", "%n more.") if more else "")


def start_files_text(start_files: tuple[str, ...]) -> str:
    """Return what a server runs of the workspace, and what ends the consent; empty if it is nothing."""
    files = [escape_invisible(path) for path in start_files if not path.endswith("/")]
    folders = [
        tr("the workspace") if path == "./" else escape_invisible(path)
        for path in start_files
        if path.endswith("/")
    ]
    return join_sentences(
        tr("Of the workspace it runs {files}.", files=tuple(files[:_NAMED_FILES])) if files else "",
        tr.plural(
            len(folders),
            "You're asked again when such a file changes, or the agent changes anything in {folders}.",
            "You're asked again when such a file changes, or the agent changes anything in one of %n "
            "folders: {folders}.",
            folders=tuple(folders[:_NAMED_FILES]),
        )
        if folders
        else tr("You're asked again when such a file changes.")
        if files
        else "",
    )


def endpoint_text(config: McpServerConfig) -> str:
    """Return the command line, or the URL, to be edited; a quoted line reads back as the same words."""
    return config.url or shlex.join((config.command, *config.args)) if config.command or config.url else ""


def variables_text(config: McpServerConfig) -> str:
    pairs = config.headers if config.url else config.env
    return "\n".join(f"{name}={value}" for name, value in pairs.items())


def parse_draft(
    name: str, endpoint: str, cwd: str, variables: dict[str, str], secrets: dict[str, str]
) -> ServerDraft:
    """Return what the fields of a form describe; empty values among `secrets` keep what is stored.

    Variables with the name of a secret become one. Raises InvalidInput.
    """
    (read,) = parse_server_configs(endpoint) if endpoint.strip() else (ServerDraft(McpServerConfig(name="")),)
    variable_values = {**read.config.env, **variables}
    hidden = {key: value for key, value in variable_values.items() if is_secret_name(key)}
    values = {**read.secrets, **secrets, **hidden}
    plain = {key: value for key, value in variable_values.items() if key not in values}
    over_http = bool(read.config.url)
    config = McpServerConfig(
        name=name.strip(),
        command=read.config.command,
        args=read.config.args,
        env={} if over_http else plain,
        secret_env=() if over_http else tuple(values),
        cwd="" if over_http else cwd.strip(),
        url=read.config.url,
        headers=plain if over_http else {},
        secret_headers=tuple(values) if over_http else (),
    )
    return ServerDraft(config, values)


def parse_variables(lines: str) -> dict[str, str]:
    """Return variables or headers by name, from lines NAME=value or NAME: value. Raises InvalidInput."""
    values: dict[str, str] = {}
    for line in lines.splitlines():
        if not line.strip():
            continue
        pair = _VARIABLE.fullmatch(line)
        if pair is None:
            raise InvalidInput(
                text("Each variable must be NAME=value (got {value}).", value=repr(line.strip()[:60])),
                fix=text("Write one per line."),
            )
        values[pair[1]] = pair[2].strip()
    return values
