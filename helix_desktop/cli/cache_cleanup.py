"""The commands that clean up a workspace's store, empty its trash, restore from it, and redact."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.cli.output import content_name, print_err, print_out
from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.errors import DigestAmbiguous, DigestUnknown, InvalidInput
from helix_desktop.domain.redaction.redaction import RedactionMatches, RedactionRequest
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.store.retention import CleanupPlan, RetentionRule
from helix_desktop.domain.text_format import ellipsize, format_bytes, pluralize
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.words.store_reports import shortfall_text, summary_lines

_KEPT_REASONS = (
    ("referenced", "named by sessions"),
    ("indexed", "reached through index entries"),
    ("pinned", "pinned"),
    ("young", "used in the last 24 hours"),
    ("spared", "may go, not asked for"),
    ("trashed", "in the trash already"),
)


async def collect(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    """Run `cache gc`: print what would be collected, or move it to the trash."""
    retention = workspace.store.retention
    plan = await retention.plan(RetentionRule(args.quota, args.older_than))
    digests = [entry.digest for entry in plan.to_trash]
    if not args.dry_run:
        digests = list((await retention.collect(digests)).digests)
    if args.json:
        print_out(json.dumps(_plan_json(plan, digests, args.dry_run), indent=1))
        return 0
    gone = set(digests)
    for entry in plan.to_trash:
        if entry.digest in gone:
            print_out(f"{entry.digest}  {_entry_line(entry)}")
    freed = sum(entry.stored_size for entry in plan.to_trash if entry.digest in gone)
    did = "would go" if args.dry_run else "went"
    print_err(f"{_count_entries(len(digests))}, {format_bytes(freed)} on disk, {did} to the trash")
    for name, why in _KEPT_REASONS:
        share = getattr(plan, name)
        if share.entries:
            stay = "stays" if share.entries == 1 else "stay"
            print_err(f"  {share.entries:,} {stay}, {format_bytes(share.stored_size)}: {why}")
    if plan.short:
        print_err(shortfall_text(plan))
    return 0


def _plan_json(plan: CleanupPlan, digests: list[str], dry_run: bool) -> dict[str, Any]:
    data = msgspec.to_builtins(plan)
    data["going"] = [entry["digest"] for entry in data["going"]]
    return {**data, "dry_run": dry_run, "gone": [] if dry_run else digests, "shortfall": shortfall_text(plan)}


async def trash(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    """Run `cache trash`: list the trash, or delete its contents."""
    retention = workspace.store.retention
    if args.empty:
        result = await retention.empty_trash()
        if args.json:
            print_out(json.dumps(msgspec.to_builtins(result), indent=1))
        else:
            removed_text = (
                f"{_count_entries(len(result.digests))}, {format_bytes(result.stored_size)} on disk"
            )
            print_out(f"removed for good: {removed_text}, and {pluralize(len(result.sessions), 'session')}")
        return 0
    trash_contents = await retention.trash()
    if args.json:
        print_out(json.dumps(msgspec.to_builtins(trash_contents), indent=1))
        return 0
    for session in trash_contents.sessions:
        print_out(f"{session.id}  session  {escape_hidden_name(ellipsize(session.title))}")
    for entry in trash_contents.entries:
        print_out(f"{entry.digest}  {_entry_line(entry)}")
    print_err(
        f"{_count_entries(len(trash_contents.entries))}, {format_bytes(trash_contents.stored_size)} on disk, "
        f"{pluralize(len(trash_contents.sessions), 'session')}"
    )
    return 0


async def restore(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    """Run `cache restore`. Raises DigestUnknown, DigestAmbiguous, InvalidInput."""
    retention = workspace.store.retention
    trash_contents = await retention.trash()
    candidates = [
        *(entry.digest for entry in trash_contents.entries),
        *(session.id for session in trash_contents.sessions),
    ]
    if not (args.all or args.ids):
        raise InvalidInput("Nothing to restore was named.", fix="Give a hash, a session's id, or --all.")
    selected = candidates if args.all else [_match_prefix(candidates, prefix) for prefix in args.ids]
    sessions = {session.id for session in trash_contents.sessions}
    result = await retention.restore([item_id for item_id in selected if item_id not in sessions])
    restored = [
        restored_id
        for session in selected
        if session in sessions
        for restored_id in await retention.restore_session(session)
    ]
    if args.json:
        print_out(json.dumps({"digests": result.digests, "sessions": restored}, indent=1))
    else:
        print_out(
            f"brought back: {_count_entries(len(result.digests))} and {pluralize(len(restored), 'session')}"
        )
    return 0


def _count_entries(count: int) -> str:
    return pluralize(count, "entry", "entries")


def _match_prefix(candidates: Sequence[str], prefix: str) -> str:
    matches = [candidate for candidate in candidates if prefix and candidate.startswith(prefix)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise DigestAmbiguous(f"Several things in the trash begin with {prefix!r}.", fix="Give more digits.")
    raise DigestUnknown(
        f"Nothing in the trash begins with {prefix[:64]!r}.", fix="List it with `cache trash`."
    )


async def forget(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    """Run `cache forget`: show where a secret occurs, or redact it. Raises InvalidInput, DigestUnknown."""
    if args.lift:
        return await _allow_again(args, workspace)
    text = _strip_newline(sys.stdin.read()) if args.stdin else ""
    request = RedactionRequest(text, tuple([await workspace.contents.resolve(prefix) for prefix in args.sha]))
    redaction = services.redaction(workspace.id)
    matches = await (redaction.redact(request) if args.yes else redaction.preview(request))
    if args.json:
        print_out(json.dumps({**_matches_json(matches), "forgotten": args.yes}, indent=1))
        return 0
    for line in summary_lines(matches):
        print_out(line)
    if matches.unreadable:
        damaged = pluralize(len(matches.unreadable), "damaged entry", "damaged entries")
        print_err(f"{damaged} cannot be looked through: repair the store first")
    if matches.is_empty:
        print_out("it stands nowhere in this workspace")
    elif not args.yes:
        print_err("nothing was changed; --yes does it, and it cannot be undone")
    return 0


def _strip_newline(text: str) -> str:
    """Remove the line end that `echo` adds."""
    return text.removesuffix("\n").removesuffix("\r")


def _matches_json(matches: RedactionMatches) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(matches)
    for name in ("contents", "indexes"):
        data[name] = [entry["digest"] for entry in data[name]]
    return data


async def _allow_again(args: argparse.Namespace, workspace: OpenWorkspace) -> int:
    if not args.sha or not all(is_digest(digest) for digest in args.sha):
        raise InvalidInput(
            "--lift takes the full hashes of forgotten outputs.",
            "Nothing is stored of them by which a part of a hash could be completed.",
            "Copy the 64 digits from the marker in the conversation.",
        )
    lifted = [digest for digest in args.sha if await workspace.store.redaction.lift(digest)]
    print_out(json.dumps({"lifted": lifted}) if args.json else f"{len(lifted):,} may be stored again")
    return 0


def _entry_line(entry: CacheEntry) -> str:
    return f"{format_bytes(entry.stored_size):>8}  {content_name(entry)}".rstrip()
