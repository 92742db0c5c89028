"""What a user reads of a store: its repair, an export or import, a clean-up, the places of a secret."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.domain.errors import StoreRepaired
from helix_desktop.domain.file_history.changes import FileHistoryCheck, FileHistoryCleanup, FileHistoryTotals
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.redaction import RedactionMatches
from helix_desktop.domain.retention import GRACE_HOURS, CleanupPlan, PermanentDeletion
from helix_desktop.domain.store import CacheEntry
from helix_desktop.domain.store_reports import (
    ExportResult,
    ImportResult,
    LostContent,
    RepairReport,
    TruncatedSession,
)
from helix_desktop.domain.translatable_text import ByteSize, TextContext, TranslatableText, join_sentences
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator, translate

text = TextContext("Store reports")
tr = Translator("Store reports")

_MAX_LISTED = 5  # lost contents and truncated sessions that are listed by name


def repair_notice(report: RepairReport) -> StoreRepaired:
    readable = (
        text.plural(report.entries, "%n output", "%n outputs"),
        text.plural(report.sessions, "%n session", "%n sessions"),
        text.plural(report.events, "%n event", "%n events"),
    )
    return StoreRepaired(
        text("Workspace data was damaged and has been repaired.")
        if report.copy
        else text("The newest data of this workspace is missing."),
        join_sentences(
            *(text("{problem}.", problem=problem) for problem in report.wrong),
            text("Still readable: {items}.", items=readable),
            *_losses(report),
        ),
        join_sentences(*_advice(report)),
    )


def lost_content_text(content: LostContent) -> str:
    return escape_hidden_name(
        " ".join(part for part in (content.digest[:12], display_name(content.tool), content.target) if part)
    )


def truncated_session_text(session: TruncatedSession) -> TranslatableText:
    """Return the name of a session, and how much of its log is left."""
    title = escape_hidden_name(session.title) or session.session[:8]
    return text(
        "{title} ({kept} of {total} events left)", title=title, kept=session.kept, total=session.total
    )


def _losses(report: RepairReport) -> list[TranslatableText]:
    if report.is_lossless:
        return [text("Nothing was lost.")]
    sentences = []
    if report.contents:
        sentences.append(
            text.plural(
                len(report.contents),
                "%n output couldn't be recovered: {names}.",
                "%n outputs couldn't be recovered: {names}.",
                names=_first_few([lost_content_text(content) for content in report.contents]),
            )
        )
    if report.cut:
        names = _first_few([truncated_session_text(session) for session in report.cut])
        sentences.append(text("Shortened sessions: {names}.", names=names))
    if report.writes:
        sentences.append(
            text.plural(report.writes, "The last change is missing.", "The last %n changes are missing.")
        )
    if report.vanished:
        sentences.append(
            text.plural(
                report.vanished,
                "%n output is gone, with its digest.",
                "%n outputs are gone, with their digests.",
            )
        )
    if report.uncounted:
        sentences.append(text("Other data was lost; how much is unknown."))
    if report.rows:
        sentences.append(
            text.plural(report.rows, "%n record couldn't be read.", "%n records couldn't be read.")
        )
    return sentences


def _advice(report: RepairReport) -> list[TranslatableText]:
    sentences = []
    if report.contents:
        sentences.append(text("Run the tool again to get a lost output back."))
    if any(session.aside for session in report.cut):
        sentences.append(text("Events after a gap are kept as text in {folder}.", folder=report.aside))
    if report.copy:
        sentences.append(
            text(
                "The damaged files are kept in {folder}. Delete them when nothing is missing.",
                folder=report.copy,
            )
        )
    return [*sentences, text("If this happens again, check the disk.")]


def _first_few(names: Sequence[str]) -> tuple[str, ...]:
    more = len(names) - _MAX_LISTED
    listed = tuple(names[:_MAX_LISTED])
    return (*listed, text.plural(more, "%n more", "%n more", "things in a list")) if more > 0 else listed


def removed_text(count: int) -> str:
    """Return how many private values were removed from a document for others."""
    return tr.plural(
        count,
        "%n key, token, address or folder was removed, wherever it stands.",
        "%n keys, tokens, addresses and folders were removed, wherever they stand.",
    )


def export_summary(result: ExportResult) -> str:
    totals = result.totals
    lost = len(totals.lost)
    left_out = len(totals.left_out)
    removed = len(totals.removed)
    return translate(
        join_sentences(
            tr(
                "Contains {entries} and {sessions}.",
                entries=_with_parts(
                    tr.plural(totals.entries, "%n entry", "%n entries"), _trashed_part(totals.trashed_entries)
                ),
                sessions=_with_parts(
                    tr.plural(totals.sessions, "%n session", "%n sessions"),
                    tr.plural(totals.subagents, "%n of a subagent", "%n of subagents")
                    if totals.subagents
                    else "",
                    _trashed_part(totals.trashed_sessions),
                ),
            ),
            tr.plural(
                lost,
                "%n damaged or lost entry isn't in the file.",
                "%n damaged or lost entries aren't in the file.",
            )
            if lost
            else "",
            tr.plural(
                removed,
                "Without %n output that you removed.",
                "Without %n outputs that you removed.",
            )
            if removed
            else "",
            tr.plural(
                left_out,
                "%n session whose log can't be read isn't in the file.",
                "%n sessions whose logs can't be read aren't in the file.",
            )
            if left_out
            else "",
        )
    )


def _with_parts(total: str, *parts: str) -> str:
    """Return a number of things with the parts of it that have a text; without brackets if none has."""
    labels = tuple(filter(None, parts))
    return tr("{total} ({parts})", total=total, parts=labels) if labels else total


def _trashed_part(count: int) -> str:
    return tr.plural(count, "%n in the trash", "%n in the trash") if count else ""


def import_summary(result: ImportResult) -> str:
    new = len(result.new)
    extended = len(result.extended)
    unchanged = len(result.unchanged)
    apart = len(result.apart)
    busy = len(result.busy)
    trashed = set(result.trashed)
    new_trashed = len(trashed.intersection(result.new))
    old_trashed = len(trashed.intersection(result.unchanged))
    sessions = [
        (new, _with_parts(tr.plural(new, "%n new", "%n new", "sessions"), _trashed_part(new_trashed))),
        (extended, tr.plural(extended, "%n extended", "%n extended", "sessions")),
        (
            unchanged,
            _with_parts(
                tr.plural(unchanged, "%n unchanged", "%n unchanged", "sessions"), _trashed_part(old_trashed)
            ),
        ),
        (apart, tr.plural(apart, "%n added as a separate session", "%n added as separate sessions")),
        (busy, tr.plural(busy, "%n skipped because it is open", "%n skipped because they are open")),
    ]
    listed = tuple(change for count, change in sessions if count)
    entries = tr.plural(result.added, "%n entry added.", "%n entries added.")
    if result.existing:
        entries = tr.plural(
            result.added,
            "%n entry added, {known} already present.",
            "%n entries added, {known} already present.",
            known=result.existing,
        )
    return translate(
        join_sentences(entries, tr("Sessions: {changes}.", changes=listed) if listed else tr("No sessions."))
    )


def shortfall_text(plan: CleanupPlan) -> str:
    """Return why the maximum size cannot be met, to be translated; empty if it can, or none was set."""
    if not plan.short:
        return ""
    totals_by_reason = (
        (plan.referenced, text("{size} used by sessions", size=ByteSize(plan.referenced.stored_size))),
        (plan.indexed, text("{size} used by what was compacted", size=ByteSize(plan.indexed.stored_size))),
        (plan.pinned, text("{size} pinned", size=ByteSize(plan.pinned.stored_size))),
        (
            plan.young,
            text(
                "{size} used in the last {hours} hours",
                size=ByteSize(plan.young.stored_size),
                hours=GRACE_HOURS,
            ),
        ),
    )
    return join_sentences(
        text(
            "The outputs are {size} over their maximum of {quota}.",
            size=ByteSize(plan.short),
            quota=ByteSize(plan.quota),
        ),
        text(
            "Always kept: {reasons}.",
            reasons=tuple(reason for totals, reason in totals_by_reason if totals.entries),
        ),
        text("Delete sessions, unpin entries or raise the maximum size."),
    )


def kept_lines(plan: CleanupPlan) -> tuple[str, ...]:
    """Return what stays in the cache and why, one line for each reason."""
    reasons = (
        (plan.referenced, tr("Kept: used by sessions")),
        (plan.indexed, tr("Kept: used by what was compacted")),
        (plan.pinned, tr("Kept: pinned")),
        (plan.young, tr("Kept: used in the last {hours} hours", hours=GRACE_HOURS)),
        (plan.spared, tr("Kept: not covered by these settings")),
        (plan.trashed, tr("Already in the trash")),
    )
    return tuple(
        " · ".join(
            (
                reason,
                tr.plural(totals.entries, "%n entry", "%n entries"),
                tr("{size} on disk", size=format_size(totals.stored_size)),
            )
        )
        for totals, reason in reasons
        if totals.entries
    )


def deletion_lines(deletion: PermanentDeletion, history: FileHistoryCleanup) -> tuple[str, ...]:
    """Return what a permanent deletion would remove, what stays and why, a sentence each.

    `history` is what of the file history goes with it.
    """
    sessions = len(deletion.sessions)
    outputs = len(deletion.digests)
    staying = deletion.staying.entries
    counts = (
        tr.plural(sessions, "%n session with its messages", "%n sessions with their messages")
        if sessions
        else "",
        tr.plural(outputs, "%n output", "%n outputs") if outputs else "",
        tr.plural(history.contents, "%n previous file version", "%n previous file versions")
        if history.contents
        else "",
    )
    items = tuple(filter(None, counts)) or tr("nothing")
    size = format_size(deletion.freed + history.stored_size)
    lines = [tr("This deletes {items}, which frees {size}.", items=items, size=size)]
    if history.captures:
        lines.append(
            tr.plural(
                history.captures,
                "%n change of files can't be reverted after that.",
                "%n changes to files can't be reverted after that.",
            )
        )
    if staying:
        lines.append(
            tr.plural(
                staying,
                "%n output stays: another session, a draft or a pin needs it, or it was used since.",
                "%n outputs stay: other sessions, drafts or pins need them, or they were used since.",
            )
        )
    if deletion.with_branches:
        lines.append(tr("The messages that branches begin with stay."))
    return tuple(lines)


def retention_reason(entry: CacheEntry) -> tuple[str, str]:
    """Return why an entry cannot go to the trash even on the user's request, and what to do about it."""
    if entry.references:
        return (
            tr.plural(entry.references, "Used in %n place in sessions.", "Used in %n places in sessions."),
            tr(
                "It can be removed when no session uses it, not even one in the trash. "
                "For secrets, use Remove a secret."
            ),
        )
    if entry.pinned:
        return tr("It is pinned."), tr("Unpin it first.")
    return (
        tr("A compaction uses it."),
        tr("It can be removed with the session of that compaction."),
    )


def summary_lines(matches: RedactionMatches) -> tuple[str, ...]:
    """Return what would be done, or was, one line for each kind of place."""
    counts = (
        (n := len(matches.contents), tr.plural(
            n, "%n output: removed permanently", "%n outputs: removed permanently"
        )),
        (n := len(matches.indexes), tr.plural(
            n, "%n index entry: rewritten without it", "%n index entries: rewritten without it"
        )),
        (n := len(matches.labels), tr.plural(
            n, "%n entry description: rewritten", "%n entry descriptions: rewritten"
        )),
        (n := len(matches.events), tr.plural(
            n, "%n session event: rewritten", "%n session events: rewritten"
        )),
        (n := len(matches.titles), tr.plural(
            n, "%n line of the session list: rewritten", "%n lines of the session list: rewritten"
        )),
        (n := len(matches.drafts), tr.plural(
            n, "%n unsent message: rewritten", "%n unsent messages: rewritten"
        )),
        (n := len(matches.damaged), tr.plural(
            n, "%n damaged record: deleted", "%n damaged records: deleted"
        )),
        (n := len(matches.store_copies), tr.plural(
            n, "%n data copy kept by a repair: deleted", "%n data copies kept by a repair: deleted"
        )),
        (n := len(matches.file_versions), tr.plural(
            n,
            "%n previous file version: removed permanently",
            "%n previous file versions: removed permanently",
        )),
        (n := len(matches.change_lists), tr.plural(
            n, "%n list of changed files: rewritten", "%n lists of changed files: rewritten"
        )),
        (n := len(matches.taken_out), tr.plural(
            n, "%n copy of what a command changed: rewritten", "%n copies of what commands changed: rewritten"
        )),
        (n := len(matches.rules), tr.plural(
            n, "%n permission rule: removed", "%n permission rules: removed"
        )),
        (n := len(matches.filters), tr.plural(
            n, "%n saved filter: removed", "%n saved filters: removed"
        )),
        (n := len(matches.logs), tr.plural(n, "%n app log: rewritten", "%n app logs: rewritten")),
        (n := len(matches.servers), tr.plural(
            n, "%n MCP server: rewritten, needs your approval again",
            "%n MCP servers: rewritten, need your approval again",
        )),
    )  # fmt: skip
    return tuple(line for count, line in counts if count)


def workspace_files_note(matches: RedactionMatches) -> str:
    """Return which files of the workspace may still hold a secret; empty if none does."""
    files = tuple(map(escape_hidden_name, matches.workspace_files[:_MAX_LISTED]))
    if not files:
        return ""
    if more := len(matches.workspace_files) - len(files):
        files += (tr.plural(more, "%n more", "%n more", "files in a list"),)
    return tr("Your own files aren't changed. It is still in {files}.", files=files)


def history_check_lines(found: FileHistoryCheck) -> tuple[str, ...]:
    """Return what is damaged in a file history, a line for each version of a file; nothing if it is sound."""
    lines = [
        tr(
            "A previous version of {files} is damaged and can't be restored.",
            files=tuple(map(escape_hidden_name, version.paths[:_MAX_LISTED])) or (version.digest[:12],),
        )
        for version in found.damaged
    ]
    if lost := len(found.lost_lists):
        lines.append(
            tr.plural(lost, "%n list of changed files is lost.", "%n lists of changed files are lost.")
        )
    lines += [tr("The file history is damaged: {problem}", problem=problem) for problem in found.problems]
    return tuple(lines)


def history_totals_lines(totals: FileHistoryTotals, quota: int) -> tuple[str, ...]:
    """Return what a file history takes, and what it may (0: any size), with the saved copies beside it."""
    size = format_size(totals.stored_size)
    if not quota:
        line = tr.plural(
            totals.contents,
            "File history: %n version, {size} on disk",
            "File history: %n versions, {size} on disk",
            size=size,
        )
    else:
        line = tr.plural(
            totals.contents,
            "File history: %n version, {size} on disk (limit {quota})",
            "File history: %n versions, {size} on disk (limit {quota})",
            size=size,
            quota=format_size(quota),
        )
    if not totals.saved_copies_size:
        return (line,)
    size = format_size(totals.saved_copies_size)
    return line, tr("Saved copies of files that commands changed: {size}", size=size)


def history_cleanup_lines(plan: FileHistoryCleanup, quota: int) -> tuple[str, ...]:
    """Return what a clean-up of a file history removes, or would; nothing if there is nothing to remove."""
    unnamed = plan.contents - plan.over_quota
    lines = (
        (plan.stored_size, tr.plural(
            plan.contents,
            "Can be removed: %n version, {size} on disk.",
            "Can be removed: %n versions, {size} on disk.",
            size=format_size(plan.stored_size),
        )),
        (unnamed, tr.plural(
            unnamed, "%n version of deleted sessions.", "%n versions of deleted sessions."
        )),
        (plan.over_quota, tr.plural(
            plan.over_quota,
            "%n version over the maximum of {quota}. Its change can't be undone any more.",
            "%n versions over the maximum of {quota}, the oldest. Their changes can't be undone any more.",
            quota=format_size(quota),
        )),
        (plan.short, tr(
            "It stays {size} over the maximum: your files as they are now need that.",
            size=format_size(plan.short),
        )),
    )  # fmt: skip
    return tuple(line for count, line in lines if count)
