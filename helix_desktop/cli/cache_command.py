"""The command `cache`: verbs that list and search, that act on one entry, that clean up, and that recall."""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import re
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.cli.cache_repair import repair, verified_text, verify_all
from helix_desktop.cli.output import (
    as_builtins,
    content_name,
    print_err,
    print_json,
    print_out,
    session_as_builtins,
    write_text,
)
from helix_desktop.cli.sessions import find_session
from helix_desktop.cli.workspace_command import with_workspace
from helix_desktop.context.intake.descriptions import heads_numbered_lines
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.used_tokens import content_tokens
from helix_desktop.domain.digest import RECALL_TOOL, SEARCH_TOOL, is_digest
from helix_desktop.domain.errors import (
    ContentRedacted,
    DigestAmbiguous,
    DigestUnknown,
    InvalidInput,
    ToolError,
)
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.retention import CleanupResult, RetentionRule
from helix_desktop.domain.store import (
    CacheEntry,
    ContentHit,
    EntryFilter,
    EntrySort,
    HandoverHit,
    SearchResults,
    SessionVersions,
)
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.text_search import MatchSummary
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.store.store_search import cursor_of
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.system.exit_codes import FAILED
from helix_desktop.tools.cache.recall import pattern_error
from helix_desktop.words.numbers import format_integer, format_size
from helix_desktop.words.store_reports import (
    deletion_lines,
    history_cleanup_lines,
    history_totals_lines,
    kept_lines,
    shortfall_text,
    summary_lines,
    workspace_files_note,
)
from helix_desktop.words.translation import Translator, translate

tr = Translator("Command line")
text = TextContext("Command line")

_PAGE = 500  # entries asked for at once
_SHORT_DIGEST = 16  # digits of the digest that the next page of a list begins behind


async def list_entries(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    """Run `cache list`. Raises DigestUnknown, DigestAmbiguous for an entry that it can't go on behind."""
    entries, has_more = await _entries(args, workspace)
    if args.json:
        print_json([_entry_json(entry) for entry in entries])
    else:
        for entry in entries:
            print_out(_list_line(entry))
    if args.json and not has_more:
        return 0

    totals = await workspace.store.totals()
    parts = [
        _shown_text(len(entries), totals.entries),
        format_size(totals.size),
        tr("{size} on disk", size=format_size(totals.stored_size)),
    ]
    if entries and not args.json:
        parts.append(_count_text())
    if has_more:
        next_page = f"--after {entries[-1].digest[:_SHORT_DIGEST]}"
        parts.append(tr("for more: {options}", options=next_page))
    print_err(" · ".join(parts))
    return 0


async def search(args: argparse.Namespace, workspace: OpenWorkspace) -> int:
    """Print the newest entries and handovers that hold all words, each with its best lines."""
    results = await workspace.store.search(args.query, await _filter(args, workspace), args.limit)
    handovers = await workspace.store.search_handovers(args.query, args.limit)
    if args.json:
        print_json(_search_json(results, handovers))
        return 0
    for hit in results.hits:
        print_out(_list_line(hit.entry))
        _print_matches(hit)
    for handover in handovers:
        event = f"e{handover.seq}"
        session = handover.session
        print_out(tr("handover summary {event} of session {session}", event=event, session=session))
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
        tr.plural(handovers, "%n handover summary", "%n handover summaries"),
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


async def _entries(args: argparse.Namespace, workspace: OpenWorkspace) -> tuple[list[CacheEntry], bool]:
    """Return the entries that the command line asks for, and whether more follow."""
    entry_filter = await _filter(args, workspace)
    order = EntrySort(args.sort, not args.reverse)
    cursor = ""
    if args.after:
        digest = await workspace.contents.resolve(args.after)
        cursor = cursor_of(await workspace.store.entry(digest), order)

    entries: list[CacheEntry] = []
    while True:
        limit = min(_PAGE, args.limit - len(entries))
        page = await workspace.store.page(cursor, limit, order, entry_filter=entry_filter)
        entries += page.entries
        cursor = page.cursor
        if not cursor or len(entries) == args.limit:
            return entries, bool(cursor)


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
    return await find_session(workspace, session_prefix) if session_prefix else ""


def _entry_json(entry: CacheEntry) -> dict[str, Any]:
    """Return the record of an entry with the tokens that its line has."""
    return {**as_builtins(entry), "tokens": content_tokens(entry)}


def _list_line(entry: CacheEntry) -> str:
    count = ("≈ " if entry.is_estimated else "") + format_integer(content_tokens(entry))
    tokens = tr("{tokens} tokens", tokens=f"{count:>9}")
    return f"{entry.digest}  {format_size(entry.size):>8}  {tokens}  {content_name(entry)}".rstrip()


def _numbered(hit: ContentHit | HandoverHit) -> MatchSummary:
    """Return the matches with the numbers that recall takes: a header above an output has none."""
    if not isinstance(hit, ContentHit) or not heads_numbered_lines(hit.entry.tool, hit.matches.header):
        return hit.matches
    return replace(hit.matches, best=tuple(replace(spot, line=spot.line - 1) for spot in hit.matches.best))


def _print_matches(hit: ContentHit | HandoverHit) -> None:
    for spot in _numbered(hit).best:
        print_out(f"  {spot.line}: {escape_hidden_name(spot.excerpt)}")
    if not hit.matches.lines:
        print_out(f"  {tr('matches name')}")


def _matches_json(hit: ContentHit | HandoverHit) -> dict[str, Any]:
    matches = _numbered(hit)
    return {"lines": matches.lines, "best": as_builtins(matches.best)}


def _search_json(results: SearchResults, handovers: tuple[HandoverHit, ...]) -> dict[str, Any]:
    return {
        "entries": [{**_entry_json(hit.entry), **_matches_json(hit)} for hit in results.hits],
        "handovers": [
            {
                "session": handover.session,
                "seq": handover.seq,
                "checkpoint": handover.is_checkpoint,
                **_matches_json(handover),
            }
            for handover in handovers
        ],
        "unreadable": results.unreadable,
        "more": bool(results.cursor),
    }


async def collect(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    """Run `cache gc`: print what would be collected, or move it to the trash; clean up the file history."""
    retention = workspace.store.retention
    plan = await retention.plan(RetentionRule(args.quota, args.older_than))
    digests = [entry.digest for entry in plan.to_trash]
    if not args.dry_run:
        digests = list((await retention.collect(digests)).digests)
    history = services.history_storage(workspace.id)
    history_plan = await (history.plan() if args.dry_run else history.clean_up())
    if args.json:
        data = as_builtins(plan)
        data["going"] = [entry["digest"] for entry in data["going"]]
        gone_digests = [] if args.dry_run else digests
        data |= {"dry_run": args.dry_run, "gone": gone_digests, "shortfall": shortfall_text(plan)}
        totals = as_builtins(await history.totals())
        data["file_history"] = {**totals, "quota": history.quota, "removed": as_builtins(history_plan)}
        print_json(data)
        return 0
    gone = set(digests)
    for entry in plan.to_trash:
        if entry.digest in gone:
            print_out(f"{entry.digest}  {_entry_line(entry)}")
    freed = sum(entry.stored_size for entry in plan.to_trash if entry.digest in gone)
    print_err(_collected_text(len(digests), freed, is_dry_run=args.dry_run))
    for line in kept_lines(plan):
        print_err(f"  {line}")
    if plan.short:
        print_err(translate(shortfall_text(plan)))
    print_err("\n".join(history_totals_lines(await history.totals(), history.quota)))
    for line in history_cleanup_lines(history_plan, history.quota):
        print_err(f"  {line}")
    return 0


def _collected_text(entries: int, size: int, *, is_dry_run: bool) -> str:
    if is_dry_run:
        return tr.plural(
            entries,
            "%n entry, {size} on disk, would be moved to the trash",
            "%n entries, {size} on disk, would be moved to the trash",
            size=format_size(size),
        )
    return tr.plural(
        entries,
        "%n entry, {size} on disk, moved to the trash",
        "%n entries, {size} on disk, moved to the trash",
        size=format_size(size),
    )


async def trash(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    retention = workspace.store.retention
    trash_contents = await retention.trash()
    if args.empty:
        deletion = await retention.delete_permanently(
            [entry.digest for entry in trash_contents.entries],
            [session.id for session in trash_contents.sessions],
        )
        result = CleanupResult(deletion.digests, deletion.sessions, deletion.freed)
        await services.history_storage(workspace.id).clean_up()
        if args.json:
            print_json(as_builtins(result))
        else:
            totals = _totals_text(len(result.digests), len(result.sessions), result.stored_size)
            print_out(tr("Permanently deleted: {totals}", totals=totals))
        return 0
    if args.json:
        sessions = [session_as_builtins(session) for session in trash_contents.sessions]
        entries = [_entry_json(entry) for entry in trash_contents.entries]
        print_json({**as_builtins(trash_contents), "entries": entries, "sessions": sessions})
        return 0
    for session in trash_contents.sessions:
        print_out(f"{session.id}  {tr('session')}  {escape_hidden_name(ellipsize(session.title))}")
    for entry in trash_contents.entries:
        print_out(f"{entry.digest}  {_entry_line(entry)}")
    print_err(
        _totals_text(len(trash_contents.entries), len(trash_contents.sessions), trash_contents.stored_size)
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
        raise InvalidInput(
            text("No item to restore was given."),
            fix=text("Enter a digest, a session ID or {all}.", all="--all"),
        )
    if args.all and args.ids:
        raise InvalidInput(
            text("{option} restores everything.", option="--all"), fix=text("Leave it out, or the IDs.")
        )
    selected = candidates if args.all else [_match_prefix(candidates, prefix) for prefix in args.ids]
    sessions = {session.id for session in trash_contents.sessions}
    versions = SessionVersions(trash_contents.sessions)
    result = await retention.restore([item_id for item_id in selected if item_id not in sessions])
    restored = [
        restored_id
        for session_id in selected
        if session_id in sessions
        for version in versions.ids_of(session_id)
        for restored_id in await retention.restore_session(version)
    ]
    if args.json:
        print_json({"digests": result.digests, "sessions": restored})
    else:
        print_out(tr("Restored: {totals}", totals=_totals_text(len(result.digests), len(restored))))
    return 0


async def delete(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    """Run `cache delete`: say what would be deleted from the trash, or delete it.

    Raises DigestUnknown, DigestAmbiguous.
    """
    retention = workspace.store.retention
    trash_contents = await retention.trash()
    sessions = [session.id for session in trash_contents.sessions]
    candidates = [*(entry.digest for entry in trash_contents.entries), *sessions]
    selected = dict.fromkeys(_match_prefix(candidates, prefix) for prefix in args.ids)
    digests = [item_id for item_id in selected if item_id not in sessions]
    trashed = SessionVersions(trash_contents.sessions)
    chosen = (trashed.ids_of(item_id) for item_id in selected if item_id in sessions)
    chosen_sessions = list(dict.fromkeys(chain.from_iterable(chosen)))
    history = services.history_storage(workspace.id)
    deletion = await retention.delete_permanently(digests, chosen_sessions, dry_run=not args.yes)
    versions = await (history.clean_up() if args.yes else history.plan_deletion(deletion.sessions))
    if args.json:
        print_json({**as_builtins(deletion), "deleted": args.yes})
        return 0
    if args.yes:
        totals = _totals_text(len(deletion.digests), len(deletion.sessions), deletion.freed)
        print_out(tr("Permanently deleted: {totals}", totals=totals))
        return 0
    print_out(tr("Dry run: nothing was changed. With {yes}:", yes="--yes"))
    for line in (*deletion_lines(deletion, versions), tr("This can't be undone.")):
        print_out(line)
    return 0


def _totals_text(entries: int, sessions: int, size: int | None = None) -> str:
    """Return how many entries and sessions there are, and what they take on disk if that is known."""
    counts = [tr.plural(entries, "%n entry", "%n entries"), tr.plural(sessions, "%n session", "%n sessions")]
    if size is not None:
        counts.append(tr("{size} on disk", size=format_size(size)))
    return " · ".join(counts)


def _match_prefix(candidates: Sequence[str], prefix: str) -> str:
    matches = [candidate for candidate in candidates if prefix and candidate.startswith(prefix)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise DigestAmbiguous(
            text("Several items in the trash start with {prefix}.", prefix=repr(prefix)),
            fix=text("Enter more digits."),
        )
    raise DigestUnknown(
        text("Nothing in the trash starts with {prefix}.", prefix=repr(prefix[:64])),
        fix=text("List the trash with {command}.", command="helix-desktop cache trash"),
    )


async def forget(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    """Run `cache forget`: show where a secret occurs, or redact it. Raises InvalidInput, DigestUnknown."""
    if args.lift:
        return await _allow_again(args, services, workspace)
    if args.stdin and sys.stdin.isatty():
        print_err(tr("Enter the text to remove, then end it with {keys}.", keys="Ctrl+D"))
    typed = sys.stdin.read().removesuffix("\n").removesuffix("\r") if args.stdin else ""  # as `echo` ends
    request = RedactionRequest(
        typed, tuple([await workspace.contents.resolve(prefix) for prefix in args.sha])
    )
    redaction = services.redaction(workspace.id)
    matches = await (redaction.redact(request) if args.yes else redaction.preview(request))
    if args.json:
        data = as_builtins(matches)
        for name in ("contents", "indexes"):
            data[name] = [entry["digest"] for entry in data[name]]
        print_json({**data, "forgotten": args.yes})
        return 0
    if not (args.yes or matches.is_empty):
        print_out(tr("Dry run: nothing was changed. With {yes}:", yes="--yes"))
    for line in summary_lines(matches):
        print_out(translate(line))
    if files := workspace_files_note(matches):
        print_err(files)
    if matches.unreadable:
        print_err(
            tr.plural(
                len(matches.unreadable),
                "%n damaged entry can't be searched. Repair the store first.",
                "%n damaged entries can't be searched. Repair the store first.",
            )
        )
    if matches.is_empty:
        print_out(tr("no occurrences found"))
    return 0


async def _allow_again(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    if not args.sha or not all(is_digest(digest) for digest in args.sha):
        raise InvalidInput(
            text("{lift} requires the full digests of removed outputs.", lift="--lift"),
            text("A removed output can't be found by a part of its digest."),
            text("Copy the 64 digits from its short description in the conversation."),
        )
    redaction = services.redaction(workspace.id)
    digests = tuple(dict.fromkeys(args.sha))
    lifted = [digest for digest in digests if await redaction.lift(digest)]
    if lifted and args.json:
        print_json({"lifted": lifted})
    elif lifted:
        print_out(tr.plural(len(lifted), "%n output may be saved again", "%n outputs may be saved again"))
    if unknown := [digest for digest in digests if digest not in lifted]:
        raise DigestUnknown(
            text("No removed output has the digest {digest}.", digest=unknown[0]),
            text("Nothing with this digest was removed here, or it may already be saved again."),
            text("Copy the 64 digits from its short description in the conversation."),
        )
    return 0


def _entry_line(entry: CacheEntry) -> str:
    return f"{format_size(entry.stored_size):>8}  {content_name(entry)}".rstrip()


_ENTRIES = re.compile(r"e\d+(-e?\d+)?")
_ENTRY_RANGE = re.compile(r"(?:[0-9a-f]{8,64}[\s,:]+)?e(\d{1,6})(?:\s*[-–]\s*e?(\d{1,6}))?")
_MAX_HITS = 50  # the most that the tool takes


class StoredSession(msgspec.Struct, frozen=True):
    """A session as a tool of its agent sees it, read from the store."""

    id: str
    transcript: Transcript


async def recall(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    """Print what the agent would get for a hash or entry numbers. Raises HelixError."""
    if not args.from_session and _ENTRIES.fullmatch(args.handle):
        raise InvalidInput(
            text("Entry numbers such as {handle} belong to a session.", handle=args.handle),
            fix=text("Add {option}.", option="--from-session"),
        )
    arguments = {
        "hash": await _resolve_handle(args.handle, workspace),
        "pattern": args.pattern,
        "start_line": args.start_line,
        "end_line": args.end_line,
        "context": args.context,
        "max_tokens": args.max_tokens,
    }
    try:
        return await _print_answer(RECALL_TOOL, arguments, args, services, workspace)
    except ToolError as error:  # it is about what was asked for
        raise pattern_error(error) or InvalidInput(error.what, error.why, error.fix) from error


async def _resolve_handle(handle: str, workspace: OpenWorkspace) -> str:
    """Return entry numbers as they are, and the digest of anything else. Raises HelixError for the user."""
    plain = handle.strip().strip("\"'`").rstrip("….").lower()
    if match := _ENTRY_RANGE.fullmatch(plain):
        first = int(match[1])
        last = int(match[2] or match[1])
        if last < first:
            raise InvalidInput(
                text("{handle} ends before it begins.", handle=repr(handle)),
                fix=text("Write {handle}.", handle=f"e{last}-e{first}"),
            )
        return plain
    try:
        return await workspace.contents.resolve(plain)
    except ContentRedacted:
        raise
    except DigestUnknown as error:
        fix = text(
            "Find it by words with {command}, or list the entries.", command="helix-desktop cache search"
        )
        raise DigestUnknown(error.what, error.why, fix, error.near) from error


async def _print_answer(
    tool: str,
    arguments: dict[str, object],
    args: argparse.Namespace,
    services: AppServices,
    workspace: OpenWorkspace,
) -> int:
    session = None
    if session_id := await resolve_session(args.from_session, workspace):
        log = await workspace.store.events(session_id)
        session = StoredSession(session_id, await asyncio.to_thread(Transcript, log))
    tools = services.tools.create_session_tools(workspace.store, session)
    result = await tools.run(ToolCall("cli", tool, json.dumps(arguments)))
    answer = result.model_text or result.content.decode("utf-8", "replace")
    if args.json:
        print_json({"recalled": result.recalled, "text": answer})
    else:
        print_out(answer.removesuffix("\n"))
    return 0


def cache(args: argparse.Namespace) -> int:
    return with_workspace(args, partial(_VERBS[args.verb], args))


async def _search(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    if not args.agent:
        return await search(args, workspace)
    arguments = {"query": args.query, "tool": args.tool, "limit": min(args.limit, _MAX_HITS)}
    return await _print_answer(SEARCH_TOOL, arguments, args, services, workspace)


async def _show(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    digest = await workspace.contents.resolve(args.sha)
    data = await workspace.store.get(digest)
    if args.json:
        entry = await workspace.store.entry(digest)
        print_json({**_entry_json(entry), **_content_json(data)})
        return 0
    if sys.stdout.isatty():
        write_text(sys.stdout, data.decode("utf-8", "backslashreplace"))
        return 0
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return 0


def _content_json(data: bytes) -> dict[str, str]:
    """Return a content as `text`, or as `base64` where it is none."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


async def _verify(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    if not args.sha:
        return await verify_all(args, services, workspace)
    verdict = await workspace.contents.verify(await workspace.contents.resolve(args.sha))
    damaged = [] if verdict.is_valid else [verdict.digest]
    if args.json:
        print_out(json.dumps({"verified": 1, "damaged": damaged, "problems": []}))
    else:
        if damaged:
            print_out(f"{verdict.digest}  {tr('DAMAGED')}  {translate(verdict.text)}")
        print_out(verified_text(1, len(damaged)))
    return FAILED if damaged else 0


_VERBS: dict[str, Callable[[argparse.Namespace, AppServices, OpenWorkspace], Coroutine[Any, Any, int]]] = {
    "list": list_entries,
    "search": _search,
    "recall": recall,
    "show": _show,
    "verify": _verify,
    "repair": repair,
    "gc": collect,
    "trash": trash,
    "restore": restore,
    "delete": delete,
    "forget": forget,
}
