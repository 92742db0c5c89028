"""What the page of MCP servers says: a report in words, and fields as a draft. No Qt."""

from __future__ import annotations

import re
import shlex

from helix_desktop.context.errors import HelixError, InputUnusable
from helix_desktop.context.mcp_pasted import Draft, is_secret, read_pasted
from helix_desktop.context.mcp_report import ServerReport
from helix_desktop.context.mcp_server import ServerEntry
from helix_desktop.ui.figures import tokens_text

_PAIR = re.compile(r"\s*([^=:\s]+)\s*[=:]\s?(.*)")
_STATES = {
    "ready": "Ready", "starting": "Starting…", "waiting": "About to start…", "failed": "Failed", "off": "Off",
    "unapproved": "Changed · waits for your consent", "untrusted": "The folder is not trusted",
}  # fmt: skip
INKS = {
    "ready": "ok", "starting": "accent", "waiting": "accent", "failed": "error", "unapproved": "warn",
    "untrusted": "warn", "off": "faint",
}  # fmt: skip


def counted(number: int, word: str) -> str:
    """`1 tool`, `12 tools`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def state_text(report: ServerReport) -> str:
    """The state in a few words."""
    if report.state == "waiting" and report.why:
        return "Starting again…"
    if report.state == "failed" and report.again_s:
        return f"Failed · next try within {report.again_s:g} s"
    return _STATES[report.state]


def breakable(name: str) -> str:
    """A name that may be broken after each underscore."""
    return name.replace("_", "_\u200b")


def cost_text(report: ServerReport) -> str:
    """How many tools the model is told of, and what they cost; empty when nothing is known of them."""
    if not report.tools:
        return "no tools" if report.state == "ready" else ""
    told, known = len(report.told), len(report.tools)
    tools = counted(known, "tool") if told == known else f"{told} of {counted(known, 'tool')}"
    return f"{tools} · {tokens_text(report.tokens)} tokens in each request"


def total_text(reports: tuple[ServerReport, ...]) -> str:
    """What all servers together cost."""
    told, tokens = sum(len(one.told) for one in reports), sum(one.tokens for one in reports)
    return f"{counted(told, 'tool')}, {tokens_text(tokens)} tokens in each request" if told else ""


def consent_text(entry: ServerEntry, folder: str) -> tuple[str, str]:
    """What the person is to agree to: in a sentence, and exactly."""
    pairs, secret = (entry.headers, entry.secret_headers) if entry.url else (entry.env, entry.secret_env)
    given = [*(f"{key}={value}" for key, value in pairs.items()), *(f"{key}=••• (kept)" for key in secret)]
    exactly = "\n".join([entry.line, *given])
    if entry.url:
        return (
            "It would connect to this address, with these headers:" if given else "It would connect to:",
            exactly,
        )
    where = f"It would start in {entry.cwd or folder}, with your rights and outside the sandbox:"
    return where, exactly


def reach_of(entry: ServerEntry) -> str:
    """The command line, or the URL, to be edited; a quoted line reads back as the same words."""
    return entry.url or shlex.join((entry.command, *entry.args)) if entry.command or entry.url else ""


def pairs_text(entry: ServerEntry) -> str:
    """Variables or headers as lines."""
    pairs = entry.headers if entry.url else entry.env
    return "\n".join(f"{name}={value}" for name, value in pairs.items())


def draft_of(name: str, reach: str, cwd: str, pairs: str, secrets: dict[str, str]) -> Draft:
    """What the fields of a form describe; `secrets` may have empty values, which stay as they are kept.

    Variables with the name of a secret become one. Raises InputUnusable.
    """
    (read,) = read_pasted(reach) if reach.strip() else (Draft(ServerEntry(name="")),)
    given = {**read.entry.env, **_pairs(pairs)}
    hidden = {key: value for key, value in given.items() if is_secret(key)}
    values = {**read.secrets, **secrets, **hidden}
    plain = {key: value for key, value in given.items() if key not in values}
    over_http = bool(read.entry.url)
    entry = ServerEntry(
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
    return Draft(entry, values)


def _pairs(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        pair = _PAIR.fullmatch(line)
        if pair is None:
            raise InputUnusable(
                f"{line.strip()[:60]!r} is no variable.", fix="Write NAME=value, one per line."
            )
        found[pair[1]] = pair[2].strip()
    return found


def error_text(error: HelixError) -> str:
    """An error on one line."""
    return " ".join(part for part in (error.what, error.why, error.fix) if part)
