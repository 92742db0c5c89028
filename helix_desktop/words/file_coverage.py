"""The words for what of a workspace the file history does not cover."""

from __future__ import annotations

from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredReason
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.words.translation import Translator, translate

tr = Translator("Changes")
text = TextContext("Changes")

_LISTED = 3  # places that the line names
_DETAILED = 30  # places with their reasons
_REASONS: dict[UncoveredReason, TranslatableText] = {
    "pending": text("Not copied yet"),
    "ignored": text("Ignored by git, or a build folder"),
    "secret": text("May contain a secret: only its digest is saved"),
    "too_large": text("Over the size limit"),
    "mount": text("On another file system"),
    "special": text("Not a regular file"),
    "unreadable": text("Can't be read"),
    "hard_links": text("Has other names (hard links)"),
    "name": text("Its name isn't valid text"),
    "quota": text("The file history's limit is reached"),
    "own_data": text("Belongs to Helix Desktop"),
    "git": text("Belongs to git"),
}


def uncovered_reason_text(reason: UncoveredReason) -> str:
    return translate(_REASONS[reason])


def uncovered_line(coverage: FileCoverage) -> str:
    """Return in one line where a call's changes could not be undone; empty: everywhere they can."""
    if coverage.error:
        return tr("Can't be undone: {reason}", reason=coverage.error)
    if not coverage.uncovered:
        return "" if coverage.is_complete else tr("Can't be undone in files that are not copied yet")
    names = ", ".join(escape_hidden_name(place.path) for place in coverage.places[:_LISTED])
    if coverage.uncovered > _LISTED:
        names = tr("{names} …", names=names)
    return tr.plural(
        coverage.uncovered,
        "Can't be undone in %n place: {names}",
        "Can't be undone in %n places: {names}",
        names=names,
    )


def uncovered_details(coverage: FileCoverage) -> tuple[str, ...]:
    """Return each place that is not covered, the first ones, with its reason; one a line."""
    lines = [
        f"{escape_hidden_name(place.path)} · {uncovered_reason_text(place.reason)}"
        for place in coverage.places[:_DETAILED]
    ]
    left = coverage.uncovered - len(lines)
    if left > 0 and lines:
        lines.append(tr.plural(left, "and %n more place", "and %n more places"))
    if lines and not coverage.is_complete and not coverage.error:
        lines.append(tr("Files that are not copied yet"))
    return tuple(lines)
