"""What a user reads of sessions of other agents: in a list, and after an import."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.domain.events.foreign import RecordCount
from helix_desktop.domain.store_reports import ImportResult
from helix_desktop.words.translation import Translator

tr = Translator("Foreign sessions")


def sessions_text(result: ImportResult) -> str:
    counts = (
        (n := len(result.new), tr.plural(n, "%n session imported", "%n sessions imported")),
        (n := len(result.extended), tr.plural(n, "%n extended", "%n extended")),
        (n := len(result.unchanged), tr.plural(n, "%n already there", "%n already there")),
        (
            n := len(result.apart),
            tr.plural(n, "%n changed there, added as a new one", "%n changed there, added as new ones"),
        ),
        (
            n := len(result.busy),
            tr.plural(n, "%n skipped because it is open", "%n skipped because they are open"),
        ),
    )
    return ", ".join(words for count, words in counts if count) or tr("Nothing to import")


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
