"""The commands `sessions`, `branch` and `timeline`: sessions of a workspace, branching one, its rewrites."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from helix_desktop.agent.open_workspace import OpenWorkspace, subagent_sessions, total_spending
from helix_desktop.cli.output import as_builtins, print_json, print_notice, print_out, session_as_builtins
from helix_desktop.cli.rewrite_lines import counted_rewrites, rewrite_lines
from helix_desktop.cli.workspace_command import with_workspace
from helix_desktop.domain.cost import Spending
from helix_desktop.domain.errors import InvalidInput, StoreLocked
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.foreign import ForeignRecords, SessionImported
from helix_desktop.domain.store import SessionSummary, TreeRow, session_tree
from helix_desktop.domain.text_format import ellipsize_title, title_line
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.words.times import format_date_and_time
from helix_desktop.words.translation import Translator, error_text, translate

tr = Translator("Command line")
text = TextContext("Command line")

LIST_SESSIONS_HINT = text("List the sessions with {command}.", command="helix-desktop sessions")
"""What to do about a session that wasn't found."""
SHORT_ID = 8  # digits of a session's id in a list


def list_sessions(args: argparse.Namespace) -> int:
    """Print the sessions, each branch below its parent."""

    async def work(_: AppServices, workspace: OpenWorkspace) -> int:
        stored = await workspace.store.sessions()
        rows = session_tree(stored, with_versions=args.versions, with_archived=args.archived)
        if args.json:
            subagents = subagent_sessions(stored)
            by_id = {summary.id: summary for summary in stored}
            documents = [
                {**_document(row, by_id, subagents), **await _imported_use(workspace, row.summary)}
                for row in rows
            ]
            print_json(documents)
            return 0
        for row in rows:
            print_out(
                "  " * row.depth + _session_line(row.summary, 0 if args.versions else len(row.versions))
            )
        if not rows:
            print_out(await _nothing_listed(workspace))
        return 0

    return with_workspace(args, work)


def _document(
    row: TreeRow, by_id: Mapping[str, SessionSummary], subagents: Mapping[str, Sequence[SessionSummary]]
) -> dict[str, Any]:
    """Return a session as JSON, with what all its versions spent together with their subagents.

    `total_spent` and `total_unpriced`, the part without a price, are tokens, `total_cost` is in US dollars.
    `versions` are the ids of its versions, oldest first, its own among them.
    """
    total = sum((total_spending(by_id[version], subagents) for version in row.versions), Spending())
    totals = {"total_spent": total.tokens, "total_cost": total.cost, "total_unpriced": total.unpriced}
    versions = {"versions": list(row.versions)}
    return {"depth": row.depth, **session_as_builtins(row.summary), **totals, **versions}


async def _imported_use(workspace: OpenWorkspace, summary: SessionSummary) -> dict[str, Any]:
    """Return the model of an imported session, and the tokens that the other agent says it took.

    Nothing for a session of ours, and for one that goes on here. `cost` is in US dollars, as that agent says.
    """
    if summary.model:
        return {}
    log = await workspace.store.events(summary.id)
    events = [recorded.event for recorded in log]
    agent = next((event.agent for event in events if isinstance(event, SessionImported)), "")
    models = [event.model for event in events if isinstance(event, AssistantSpoke)]
    if not agent or not models:
        return {}
    records = [event for event in events if isinstance(event, ForeignRecords)]
    reported = [each.usage for each in records if each.usage is not None]
    use = {
        "agent": agent,
        "input": sum(usage.input for usage in reported),
        "cached": sum(usage.cached for usage in reported),
        "cache_writes": sum(usage.cache_writes for usage in reported),
        "output": sum(usage.output for usage in reported),
        "cost": sum(each.cost for each in records),
    }
    return {"model": models[-1], "imported": use}


async def _record_what_a_crash_left(workspace: OpenWorkspace, session_id: str) -> None:
    """Record what a look at a session shows at its end, unless another process has the session open."""
    conversation = await workspace.open_session(session_id)
    with suppress(StoreLocked):
        await conversation.session.record_shown()
    await workspace.close_session(session_id)


def branch(args: argparse.Namespace) -> int:
    """Create a branch, and say at which event: that of `--at`, or the nearest end of a step."""

    async def work(_: AppServices, workspace: OpenWorkspace) -> int:
        parent = await find_session(workspace, args.session)
        await _record_what_a_crash_left(workspace, parent)
        created = await workspace.branches.create(parent, args.at, title_line(args.title))
        if args.at and created.branch_seq != args.at:
            at = f"e{created.branch_seq}"
            place = f"e{args.at}"
            print_notice(tr("{place} isn't the end of a step; branched at {event}.", place=place, event=at))
        if args.json:
            print_json(session_as_builtins(created))
        else:
            print_out(_session_line(created))
        return 0

    return with_workspace(args, work)


async def find_session(
    workspace: OpenWorkspace, session_prefix: str, hint: TranslatableText = LIST_SESSIONS_HINT
) -> str:
    """Return the session whose id begins so, or the last one. Raises InvalidInput for none or several."""
    if session_prefix == "last":
        matches = sorted(await workspace.sessions(), key=lambda session: session.archived)[:1]
    else:  # those of subagents go by their id
        stored = await workspace.store.sessions()
        matches = [session for session in stored if session_prefix and session.id.startswith(session_prefix)]
    ids = [session.id for session in matches]
    if session_prefix in ids:
        return session_prefix
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise InvalidInput(
            text("Several sessions start with {prefix}.", prefix=repr(session_prefix)),
            fix=text("Enter more of its ID."),
        )
    raise InvalidInput(
        text("No session of this workspace starts with {prefix}.", prefix=repr(session_prefix)), fix=hint
    )


def _session_line(summary: SessionSummary, versions: int = 1) -> str:
    """Return a session on one line; `versions` says how many it has (0: each of them is listed)."""
    title = escape_hidden_name(ellipsize_title(summary.title))
    parts = [f"{summary.id[:SHORT_ID]}  {title}"]
    if summary.counts is not None:
        parts.append(translate(summary.counts.text))
    parts.append(format_date_and_time(summary.updated))
    if versions > 1:
        parts.append(tr.plural(versions, "%n version", "%n versions"))
    if summary.is_version and not versions:
        parts.append(tr("version from {event}", event=f"e{summary.branch_seq}"))
    if summary.branch_of and not summary.is_version:
        parts.append(tr("branched at {event}", event=f"e{summary.branch_seq}"))
    if summary.pinned:
        parts.append(tr("pinned"))
    if summary.archived:
        parts.append(tr("archived"))
    return " · ".join(parts)


async def _nothing_listed(workspace: OpenWorkspace) -> str:
    archived = len(await workspace.sessions())
    if archived:
        return tr.plural(
            archived, "%n archived session (see --archived)", "%n archived sessions (see --archived)"
        )
    return tr("No sessions yet")


def timeline(args: argparse.Namespace) -> int:
    async def work(_: AppServices, workspace: OpenWorkspace) -> int:
        stored = await workspace.store.sessions()
        if args.json:
            documents = list[dict[str, Any]]()
            for session in stored:
                rewrites = counted_rewrites(await workspace.store.events(session.id))
                events = [as_builtins(recorded) for recorded in rewrites]
                documents.append({"session": session.id, "title": session.title, "events": events})
            print_json(documents)
            return 0
        if workspace.policy_error is not None:  # whether context is managed is a field of it
            print_notice(error_text(workspace.policy_error))
        rows = session_tree(stored, with_versions=args.versions)
        for row in (*rows, *(TreeRow(0, summary) for summary in stored if summary.parent)):
            print_out(_session_line(row.summary, 0 if args.versions else len(row.versions)))
            log = await workspace.store.events(row.summary.id)
            lines = [
                escape_hidden_name(line) for line in rewrite_lines(log, is_managed=workspace.policy.enabled)
            ]
            for line in lines or [tr("No changes to the context yet")]:
                print_out(f"  {line}")
        return 0

    return with_workspace(args, work)
