"""What a user reads of sessions of other agents: in a list, and after an import."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from helix_desktop.domain.events.foreign import RecordCount
from helix_desktop.domain.store_reports import ImportResult
from helix_desktop.words.translation import Translator

tr = Translator("Foreign sessions")


def sessions_text(result: ImportResult, sessions: Collection[str]) -> str:
    """Return what was done with the sessions of an import; their branches and subagents are counted apart.

    `sessions` are their ids, without those of branches and subagents; empty where one has no messages.
    """
    new, extended, unchanged = (
        [session for session in group if session in sessions]
        for group in (result.new, result.extended, result.unchanged)
    )
    counts = (
        (n := len(new), tr.plural(n, "%n session imported", "%n sessions imported")),
        (n := len(extended), tr.plural(n, "%n continued with what is new", "%n continued with what is new")),
        (n := len(unchanged), tr.plural(n, "%n already here", "%n already here")),
        (
            n := len(result.new) - len(new),
            tr.plural(n, "%n branch or subagent", "%n branches and subagents"),
        ),
        (
            n := len(result.apart),
            tr.plural(n, "%n changed there, added as a new one", "%n changed there, added as new ones"),
        ),
        (
            n := len(result.busy),
            tr.plural(n, "%n skipped because it is open", "%n skipped because they are open"),
        ),
        (n := len(result.trashed), tr.plural(n, "%n of them in the trash", "%n of them in the trash")),
    )
    done = ", ".join(words for count, words in counts if count)
    if done:
        return done
    # What was continued here has its news in sessions of other ids.
    if result.extended:
        return tr.plural(len(sessions), "%n continued with what is new", "%n continued with what is new")
    if result.unchanged:
        return tr.plural(len(sessions), "%n already here", "%n already here")
    if not sessions:
        return tr("Nothing to import: no sessions were found")
    return tr.plural(
        len(sessions),
        "Nothing to import: the session has no messages",
        "Nothing to import: the %n sessions have no messages",
    )


def data_records_text(by_kind: Sequence[RecordCount], damaged: int) -> str:
    """Return what is kept as data and what was skipped; empty where all became messages."""
    known = sum(records.count for records in by_kind if records.is_known)
    unknown = sum(records.count for records in by_kind if not records.is_known)
    parts = []
    if known:
        parts.append(
            tr.plural(
                known,
                "%n record without a place here is kept as data.",
                "%n records without a place here are kept as data.",
            )
        )
    if unknown:
        parts.append(
            tr.plural(
                unknown,
                "%n record of an unknown kind is kept as data.",
                "%n records of unknown kinds are kept as data.",
            )
        )
    if damaged:
        parts.append(tr.plural(damaged, "%n damaged line was skipped.", "%n damaged lines were skipped."))
    return " ".join(parts)
