"""What a user reads of a store: its repair, an export or import, a clean-up, the places of a secret."""

from __future__ import annotations

from helix_desktop.domain.errors import StoreRepaired
from helix_desktop.domain.redaction.redaction import RedactionMatches
from helix_desktop.domain.store.archive_report import ExportResult, ImportResult
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.store.repair_report import LostContent, RepairReport, TruncatedSession
from helix_desktop.domain.store.retention import CleanupPlan
from helix_desktop.domain.text_format import format_bytes, pluralize
from helix_desktop.domain.unicode_safety import escape_hidden_name

_MAX_LISTED = 5  # lost contents and truncated sessions that are listed by name
_PLURALS = {
    "index entry": "index entries",
    "entry's description": "entries' descriptions",
    "event of a session": "events of sessions",
    "log of the app": "logs of the app",
    "damaged row kept aside": "damaged rows kept aside",
    "copy of the store kept aside": "copies of the store kept aside",
}


def repair_notice(report: RepairReport) -> StoreRepaired:
    """Return the notice for the user: what happened, what was lost, what to do."""
    readable = (
        f"{pluralize(report.entries, 'cached output')}, {pluralize(report.sessions, 'session')} and "
        f"{pluralize(report.events, 'event')} could be read"
    )
    return StoreRepaired(
        "This workspace's store was damaged and has been mended."
        if report.copy
        else "This workspace's store lost its newest writes.",
        f"{'; '.join(report.wrong)}. {readable}. {_losses(report)}",
        _advice(report),
    )


def lost_content_text(content: LostContent) -> str:
    """Return the name of a content whose bytes are gone."""
    return escape_hidden_name(
        " ".join(part for part in (content.digest[:12], content.tool, content.target) if part)
    )


def truncated_session_text(session: TruncatedSession) -> str:
    """Return the name of a session, and where its log now ends."""
    name = escape_hidden_name(session.title) or session.session[:8]
    return f"{name} ends at event {session.kept} of {session.total}"


def _losses(report: RepairReport) -> str:
    if report.is_lossless:
        return "Nothing was lost."
    sentences = []
    if report.contents:
        names = _list_some([lost_content_text(content) for content in report.contents])
        sentences.append(
            f"The bytes of {pluralize(len(report.contents), 'cached output')} are lost: {names}."
        )
    if report.cut:
        names = _list_some([truncated_session_text(session) for session in report.cut])
        sentences.append(f"Sessions that end early: {names}.")
    if report.writes:
        last = "last write is" if report.writes == 1 else f"last {report.writes:,} writes are"
        sentences.append(f"The {last} missing.")
    if report.vanished:
        count = pluralize(report.vanished, "cached output")
        sentences.append(f"Of {count} nothing is left, not even the hash.")
    if report.uncounted:
        sentences.append(
            "What the missing parts held beyond that is lost, and nobody can say how much it was."
        )
    if report.rows:
        sentences.append(f"{pluralize(report.rows, 'row')} could not be read.")
    return " ".join(sentences)


def _advice(report: RepairReport) -> str:
    sentences = []
    if report.contents:
        sentences.append("Run again what made a lost output: storing the same bytes heals the entry.")
    if any(session.aside for session in report.cut):
        sentences.append(f"Events behind a gap are kept as text in {report.aside}.")
    if report.copy:
        sentences.append(f"The damaged files are kept in {report.copy}; delete them when you miss nothing.")
    sentences.append("If this comes again, check the disk.")
    return " ".join(sentences)


def _list_some(texts: list[str]) -> str:
    more = len(texts) - _MAX_LISTED
    return "; ".join(texts[:_MAX_LISTED]) + (f"; and {more} more" if more > 0 else "")


def export_summary(result: ExportResult) -> str:
    """Return a text of what the file holds and lacks."""
    totals = result.totals
    counts = f"{pluralize(totals.entries, 'entry', 'entries')}, {pluralize(totals.sessions, 'session')}."
    lacking = [
        (len(totals.missing), "damaged or lost entries are"),
        (len(totals.left_out), "sessions with damaged logs are"),
    ]
    return " ".join([counts, *(f"{count} {what} not in the file." for count, what in lacking if count)])


def import_summary(result: ImportResult) -> str:
    """Return a text of what an import added."""
    sessions = [
        (len(result.new), "new"),
        (len(result.extended), "extended"),
        (len(result.unchanged), "known"),
        (len(result.apart), "beside those that went another way"),
        (len(result.busy), "left because they are open"),
    ]
    listed = ", ".join(f"{count} {word}" for count, word in sessions if count) or "none"
    return (
        f"{pluralize(result.added, 'entry', 'entries')} added, {result.existing:,} known. Sessions: {listed}."
    )


def shortfall_text(plan: CleanupPlan) -> str:
    """Return why the quota cannot be met; empty if it can, or none was set."""
    if not plan.short:
        return ""
    stays = (
        ("named by sessions", plan.referenced),
        ("reached through index entries", plan.indexed),
        ("pinned", plan.pinned),
        ("used within the time of grace", plan.young),
    )
    reasons = ", ".join(
        f"{format_bytes(totals.stored_size)} {why}" for why, totals in stays if totals.entries
    )
    return (
        f"The quota of {format_bytes(plan.quota)} cannot be met, {format_bytes(plan.short)} are too many: "
        f"{reasons}. What a session names never goes: delete sessions, take pins off, or raise the quota."
    )


def retention_reason(entry: CacheEntry) -> tuple[str, str]:
    """Return why an entry cannot go to the trash even on the user's request, and what to do about it."""
    if entry.references:
        events = (
            "1 event of a session names" if entry.references == 1 else f"{entry.references:,} events name"
        )
        return (
            f"{events} it.",
            "It can go once no session names it. What must not stay can be forgotten.",
        )
    if entry.pinned:
        return "It is pinned.", "Unpin it first."
    return "An index entry that stays leads to it.", "It can go with the session that the index belongs to."


def summary_lines(matches: RedactionMatches) -> tuple[str, ...]:
    """Return what would be done, one line for each kind of place."""
    counts = (
        (len(matches.contents), "cached output", "removed for good"),
        (len(matches.indexes), "index entry", "written anew without it"),
        (len(matches.labels), "entry's description", "rewritten"),
        (len(matches.events), "event of a session", "rewritten"),
        (len(matches.titles), "session title", "rewritten"),
        (len(matches.drafts), "unsent message", "rewritten"),
        (len(matches.damaged), "damaged row kept aside", "deleted"),
        (len(matches.store_copies), "copy of the store kept aside", "deleted"),
        (len(matches.rules), "saved approval", "revoked"),
        (len(matches.logs), "log of the app", "cleaned"),
        (len(matches.servers), "MCP server", "rewritten, and to be agreed to anew"),
    )
    return tuple(
        f"{pluralize(count, what, _PLURALS.get(what, ''))}: {done}" for count, what, done in counts if count
    )
