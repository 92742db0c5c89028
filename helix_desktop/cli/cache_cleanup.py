"""The commands that clean up a workspace's store, empty its trash, and forget."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.cli.output import content_name, print_err, print_out
from helix_desktop.domain.digest import ellipsize, format_bytes, is_digest, pluralize
from helix_desktop.domain.errors import DigestAmbiguous, DigestUnknown, InvalidInput
from helix_desktop.domain.redaction.redaction import RedactionMatches, RedactionRequest
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.store.retention import CleanupPlan, RetentionRule
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.redaction import preview_redaction, redact_workspace

_KEPT_REASONS = (
    ("named", "named by sessions"),
    ("indexed", "reached through index entries"),
    ("pinned", "pinned"),
    ("young", "used in the last 24 hours"),
    ("spared", "may go, not asked for"),
    ("trashed", "in the trash already"),
)


async def collect(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    """`cache gc`: say what would go, or move it to the trash."""
    keep = workspace.store.retention
    plan = await keep.plan(RetentionRule(args.quota, args.older_than))
    digests = [one.digest for one in plan.going]
    if not args.dry_run:
        digests = list((await keep.collect(digests)).digests)
    if args.json:
        print_out(json.dumps(_plan_json(plan, digests, args.dry_run), indent=1))
        return 0
    gone = set(digests)
    for entry in plan.going:
        if entry.digest in gone:
            print_out(f"{entry.digest}  {_entry_line(entry)}")
    freed = sum(one.stored_size for one in plan.going if one.digest in gone)
    did = "would go" if args.dry_run else "went"
    print_err(f"{_count_entries(len(digests))}, {format_bytes(freed)} on disk, {did} to the trash")
    for name, why in _KEPT_REASONS:
        share = getattr(plan, name)
        if share.entries:
            stay = "stays" if share.entries == 1 else "stay"
            print_err(f"  {share.entries:,} {stay}, {format_bytes(share.stored_size)}: {why}")
    if plan.short:
        print_err(plan.shortfall_text)
    return 0


def _plan_json(plan: CleanupPlan, digests: list[str], dry_run: bool) -> dict[str, Any]:
    told = msgspec.to_builtins(plan)
    told["going"] = [one["digest"] for one in told["going"]]
    return {**told, "dry_run": dry_run, "gone": [] if dry_run else digests, "shortfall": plan.shortfall_text}


async def trash(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    """`cache trash`: what lies there, or remove it for good."""
    keep = workspace.store.retention
    if args.empty:
        swept = await keep.empty_trash()
        if args.json:
            print_out(json.dumps(msgspec.to_builtins(swept), indent=1))
        else:
            said = f"{_count_entries(len(swept.digests))}, {format_bytes(swept.stored_size)} on disk"
            print_out(f"removed for good: {said}, and {pluralize(len(swept.sessions), 'session')}")
        return 0
    lying = await keep.trash()
    if args.json:
        print_out(json.dumps(msgspec.to_builtins(lying), indent=1))
        return 0
    for session in lying.sessions:
        print_out(f"{session.id}  session  {escape_hidden_name(ellipsize(session.title))}")
    for entry in lying.entries:
        print_out(f"{entry.digest}  {_entry_line(entry)}")
    print_err(
        f"{_count_entries(len(lying.entries))}, {format_bytes(lying.stored_size)} on disk, "
        f"{pluralize(len(lying.sessions), 'session')}"
    )
    return 0


async def restore(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    """`cache restore`: bring back from the trash. Raises DigestUnknown, DigestAmbiguous, InputUnusable."""
    keep = workspace.store.retention
    lying = await keep.trash()
    known = [*(one.digest for one in lying.entries), *(one.id for one in lying.sessions)]
    if not (args.all or args.ids):
        raise InvalidInput("Nothing to restore was named.", fix="Give a hash, a session's id, or --all.")
    wanted = known if args.all else [_match_prefix(known, prefix) for prefix in args.ids]
    sessions = {one.id for one in lying.sessions}
    swept = await keep.restore([one for one in wanted if one not in sessions])
    back = [one for session in wanted if session in sessions for one in await keep.restore_session(session)]
    if args.json:
        print_out(json.dumps({"digests": swept.digests, "sessions": back}, indent=1))
    else:
        print_out(f"brought back: {_count_entries(len(swept.digests))} and {pluralize(len(back), 'session')}")
    return 0


def _count_entries(count: int) -> str:
    return pluralize(count, "entry", "entries")


def _match_prefix(candidates: Sequence[str], prefix: str) -> str:
    found = [one for one in candidates if prefix and one.startswith(prefix)]
    if len(found) == 1:
        return found[0]
    if found:
        raise DigestAmbiguous(f"Several things in the trash begin with {prefix!r}.", fix="Give more digits.")
    raise DigestUnknown(
        f"Nothing in the trash begins with {prefix[:64]!r}.", fix="List it with `cache trash`."
    )


async def forget(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    """`cache forget`: show where it stands, or remove it for good. Raises InputUnusable, DigestUnknown."""
    if args.lift:
        return await _allow_again(args, workspace)
    text = _strip_newline(sys.stdin.read()) if args.stdin else ""
    wanted = RedactionRequest(text, tuple([await workspace.resolve(one) for one in args.sha]))
    if args.yes:
        finds = await redact_workspace(services, workspace, wanted)
    else:
        finds = await preview_redaction(services, workspace, wanted)
    if args.json:
        print_out(json.dumps({**_matches_json(finds), "forgotten": args.yes}, indent=1))
        return 0
    for line in finds.summary_lines:
        print_out(line)
    if finds.unreadable:
        damaged = pluralize(len(finds.unreadable), "damaged entry", "damaged entries")
        print_err(f"{damaged} cannot be looked through: repair the store first")
    if finds.is_empty:
        print_out("it stands nowhere in this workspace")
    elif not args.yes:
        print_err("nothing was changed; --yes does it, and it cannot be undone")
    return 0


def _strip_newline(text: str) -> str:
    """What was piped in, without the line's end that `echo` adds."""
    return text.removesuffix("\n").removesuffix("\r")


def _matches_json(matches: RedactionMatches) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(matches)
    for name in ("contents", "indexes"):
        told[name] = [one["digest"] for one in told[name]]
    return told


async def _allow_again(args: argparse.Namespace, workspace: OpenWorkspace) -> int:
    if not args.sha or not all(is_digest(one) for one in args.sha):
        raise InvalidInput(
            "--lift takes the full hashes of forgotten outputs.",
            "Nothing is stored of them by which a part of a hash could be completed.",
            "Copy the 64 digits from the marker in the conversation.",
        )
    lifted = [one for one in args.sha if await workspace.store.redaction.lift(one)]
    print_out(json.dumps({"lifted": lifted}) if args.json else f"{len(lifted):,} may be stored again")
    return 0


def _entry_line(entry: CacheEntry) -> str:
    return f"{format_bytes(entry.stored_size):>8}  {content_name(entry)}".rstrip()


VERBS: dict[str, Callable[[argparse.Namespace, AppServices, OpenWorkspace], Coroutine[Any, Any, int]]] = {
    "gc": collect,
    "trash": trash,
    "restore": restore,
    "forget": forget,
}
