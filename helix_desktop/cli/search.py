"""The command `search`: messages, outputs, handovers and file names of all workspaces, by session."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Any

from helix_desktop.cli.output import ProgressPrinter, print_err, print_json, print_notice, print_out
from helix_desktop.cli.sessions import SHORT_ID
from helix_desktop.cli.workspace_command import resolve_workspace, with_services
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.domain.text_search import word_spans
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.search_everything import (
    SEARCH_KINDS,
    SearchFindings,
    SearchHit,
    SearchRequest,
    SessionHits,
)
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.words.numbers import format_whole_percent
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_date_and_time
from helix_desktop.words.translation import Translator, error_text

tr = Translator("Command line")

_SHORT_DIGEST = 12  # digits of a hash in a list
_INDEX_S = 0.8  # seconds for which a search waits until new messages are indexed
_BOLD = "\x1b[1m"
_PLAIN = "\x1b[22m"


def search(args: argparse.Namespace) -> int:
    """Print what is found, session by session, the best first."""

    async def work(services: AppServices) -> int:
        workspaces = (resolve_workspace(services, args).id,) if args.workspace else ()
        since = 0 if args.since is None else wall_clock_ms() - args.since
        kinds = tuple(args.kind or SEARCH_KINDS)
        request = SearchRequest(args.query, kinds, workspaces, since, all_outputs=args.wait)
        request.terms  # noqa: B018 - raises for a query without words before anything is indexed
        patience_s = None if args.wait else _INDEX_S
        progress = ProgressPrinter(tr("Indexing"))
        await services.search.index_closed(progress.update, workspaces, patience_s)
        findings = SearchFindings(request)
        async for part in services.search.find(request):
            findings.add(part)
        sessions = findings.sessions()[: args.limit]
        names = {record.id: record.name for record in services.registry.list_workspaces()}
        if args.json:
            print_json(_document(services, findings, sessions))
        else:
            for session in sessions:
                _print_session(session, names[session.workspace_id], request.terms)
            print_err(_found_text(findings, len(sessions)))
        for line in _left_out(findings):
            print_notice(line)
        for workspace_id, error in findings.errors.items():
            name = escape_hidden_name(names[workspace_id])
            print_notice(
                tr("{workspace} can't be searched: {reason}", workspace=name, reason=error_text(error))
            )
        await services.search.release()
        return 0

    return with_services(args, work)


def _print_session(session: SessionHits, workspace: str, terms: tuple[str, ...]) -> None:
    parts = [escape_hidden_name(workspace)]
    if session.summary is None:
        parts.insert(0, tr("Outputs of deleted sessions"))
    else:
        title = ellipsize_title(session_title(session.summary.title))
        parts.insert(0, f"{session.summary.id[:SHORT_ID]}  {escape_hidden_name(title)}")
        parts.append(format_date_and_time(session.summary.updated))
    print_out(" · ".join(parts))
    for hit in session.hits:
        place = hit.digest[:_SHORT_DIGEST] or f"e{hit.seq}"
        _write_marked(f"  {place:<{_SHORT_DIGEST}}  {_what(hit):<9} ", escape_hidden_name(hit.excerpt), terms)
    if session.has_more:
        print_out(f"  {tr('… more in this session')}")


def _what(hit: SearchHit) -> str:
    match hit.kind:
        case "message":
            speakers = {"user": tr("you"), "agent": tr("agent")}
            return speakers.get(hit.speaker, tr("program"))
        case "output":
            return tr("output")
        case "handover":
            return tr("handover summary")
        case "file":
            return tr("file")


def _write_marked(head: str, text: str, terms: tuple[str, ...]) -> None:
    """Print a line; on a terminal with the words in bold, unless the user wants no colors."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        print_out(head + text)
        return
    marked = ""
    end = 0
    for start, stop in word_spans(text, terms):
        if start >= end:
            marked += f"{text[end:start]}{_BOLD}{text[start:stop]}{_PLAIN}"
            end = stop
    sys.stdout.write(f"{head}{marked}{text[end:]}\n")


def _left_out(findings: SearchFindings) -> Iterator[str]:
    """Say what could not be searched in the time that a search takes, and how it is."""
    behind, events = findings.unindexed
    if behind:
        yield tr(
            "Still indexing ({share}): older messages may be missing. {option} waits for them.",
            share=format_whole_percent((events - behind) / events),
            option="--wait",
        )
    if findings.outputs_left:
        yield tr(
            "Some outputs are large or new and weren't searched. {option} searches all.",
            option="--wait",
        )


def _found_text(findings: SearchFindings, sessions: int) -> str:
    hits = findings.count
    if not hits:
        return tr("No results. All words must be in one message, output, handover summary or path.")
    parts = [
        tr.plural(hits, "%n place", "%n places")
        + " "
        + tr.plural(sessions, "in %n session", "in %n sessions")
    ]
    if len(findings.sessions()) > sessions or findings.has_more:
        parts.append(tr("there may be more: raise {limit}", limit="--limit"))
    return " · ".join(parts)


def _document(services: AppServices, findings: SearchFindings, sessions: list[SessionHits]) -> dict[str, Any]:
    unindexed, events = findings.unindexed
    return {
        "sessions": [_session_document(services, session) for session in sessions],
        "more": findings.has_more or len(findings.sessions()) > len(sessions),
        "complete": findings.is_complete,
        "unindexed": unindexed,
        "events": events,
        "unsearched": sorted(findings.errors),
    }


def _session_document(services: AppServices, session: SessionHits) -> dict[str, Any]:
    record = services.registry.get(session.workspace_id)
    summary = session.summary
    return {
        "workspace": record.id,
        "path": record.path,
        "session": summary.id if summary is not None else "",
        "title": summary.title if summary is not None else "",
        "updated": summary.updated if summary is not None else 0,
        "more": session.has_more,
        "hits": [_hit_document(hit) for hit in session.hits],
    }


def _hit_document(hit: SearchHit) -> dict[str, Any]:
    document: dict[str, Any] = {"kind": hit.kind, "at": hit.at, "excerpt": hit.excerpt}
    if hit.digest:
        names = {"sha256": hit.digest, "tool": hit.tool, "target": hit.target}
        return {**document, **names, "line": hit.line, "size": hit.size}
    return {**document, "seq": hit.seq, **({"speaker": hit.speaker} if hit.speaker else {})}
