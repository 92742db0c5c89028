"""The commands that list and search the cache of a workspace."""

from __future__ import annotations

import argparse
import json
from typing import Any

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.cli.output import as_builtins, content_name, print_err, print_out
from helix_desktop.cli.sessions import find_session
from helix_desktop.context.window.usage_gauge import content_tokens
from helix_desktop.domain.store import (
    CacheEntry,
    ContentHit,
    EntryFilter,
    EntrySort,
    HandoverHit,
    SearchResults,
)
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.words.numbers import format_integer, format_size
from helix_desktop.words.translation import Translator

tr = Translator("Command line")
text = TextContext("Command line")

_PAGE = 500  # entries asked for at once


async def list_entries(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    """Print the entries that match the filter, in order."""
    entries = await _entries(args, workspace)
    if args.json:
        print_out(json.dumps([as_builtins(entry) for entry in entries], indent=1))
        return 0
    for entry in entries:
        print_out(_entry_line(entry))
    totals = await workspace.store.totals()
    print_err(
        " · ".join(
            (
                _shown_text(len(entries), totals.entries),
                format_size(totals.size),
                tr("{size} on disk", size=format_size(totals.stored_size)),
                *([_count_text()] if entries else []),
            )
        )
    )
    return 0


async def search(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    """Print the newest entries and handovers that hold all words, each with its best lines."""
    results = await workspace.store.search(args.query, await _filter(args, workspace), args.limit)
    handovers = await workspace.store.search_handovers(args.query, args.limit)
    if args.json:
        print_out(json.dumps(_search_json(results, handovers), indent=1))
        return 0
    for hit in results.hits:
        print_out(_entry_line(hit.entry))
        _print_matches(hit)
    for handover in handovers:
        event, session = f"e{handover.seq}", handover.session
        print_out(
            tr("checkpoint {event} of session {session}", event=event, session=session)
            if handover.is_checkpoint
            else tr("handover {event} of session {session}", event=event, session=session)
        )
        _print_matches(handover)
    print_err(_found_text(results, len(handovers)))
    return 0


def _shown_text(listed: int, entries: int) -> str:
    if listed == entries:
        return tr.plural(entries, "%n entry", "%n entries")
    return tr.plural(entries, "{listed} of %n entry", "{listed} of %n entries", listed=listed)


def _found_text(results: SearchResults, handovers: int) -> str:
    parts = [
        tr.plural(len(results.hits), "%n entry", "%n entries"),
        tr.plural(handovers, "%n handover", "%n handovers"),
    ]
    if results.hits:
        parts.append(_count_text())
    if results.unreadable:
        parts.append(tr.plural(results.unreadable, "%n damaged entry", "%n damaged entries"))
    if results.cursor:
        parts.append(tr("there may be more: raise {limit}", limit="--limit"))
    return " · ".join(parts)


def _count_text() -> str:
    """Say whose count an entry's tokens are: it is of no session, and so of no model."""
    return tr("tokens by Helix's count")


async def _entries(args: argparse.Namespace, workspace: OpenWorkspace) -> list[CacheEntry]:
    entry_filter, order = await _filter(args, workspace), EntrySort(args.sort, not args.reverse)
    entries: list[CacheEntry] = []
    cursor = ""
    while True:
        limit = min(_PAGE, args.limit - len(entries)) if args.limit else _PAGE
        page = await workspace.store.page(cursor, limit, order, entry_filter=entry_filter)
        entries += page.entries
        cursor = page.cursor
        if not cursor or len(entries) == args.limit:
            return entries


async def _filter(args: argparse.Namespace, workspace: OpenWorkspace) -> EntryFilter:
    """Build the filter of the command line. Raises InvalidInput if no session, or several, match."""
    now = wall_clock_ms()
    return EntryFilter(
        prefix=args.prefix or "",
        tool=args.tool,
        session=await resolve_session(args.from_session, workspace),
        target=args.path,
        min_size=args.min_size,
        max_size=args.max_size,
        since=0 if args.newer is None else now - args.newer,
        until=None if args.older is None else now - args.older,
        unused=args.unused,
        orphan=args.orphan,
        pinned=True if args.pinned else None,
    )


async def resolve_session(session_prefix: str, workspace: OpenWorkspace) -> str:
    """Return the id of the one session that begins so; empty for no prefix. Raises InvalidInput."""
    if not session_prefix:
        return ""
    return await find_session(workspace, session_prefix)


def _entry_line(entry: CacheEntry) -> str:
    count = ("≈ " if entry.is_estimated else "") + format_integer(content_tokens(entry))
    tokens = tr("{tokens} tokens", tokens=f"{count:>9}")
    return f"{entry.digest}  {format_size(entry.size):>8}  {tokens}  {content_name(entry)}".rstrip()


def _print_matches(hit: ContentHit | HandoverHit) -> None:
    for spot in hit.matches.best:
        print_out(f"  {spot.line}: {escape_hidden_name(spot.excerpt)}")
    if not hit.matches.lines:
        print_out(f"  {tr('matches name')}")


def _search_json(results: SearchResults, handovers: tuple[HandoverHit, ...]) -> dict[str, Any]:
    """Return the results of a search as a JSON document."""
    return {
        "entries": [{**as_builtins(hit.entry), **as_builtins(hit.matches)} for hit in results.hits],
        "handovers": [
            {
                "session": handover.session,
                "seq": handover.seq,
                "checkpoint": handover.is_checkpoint,
                **as_builtins(handover.matches),
            }
            for handover in handovers
        ],
        "unreadable": results.unreadable,
        "more": bool(results.cursor),
    }
