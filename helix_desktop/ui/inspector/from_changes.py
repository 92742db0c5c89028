"""What changed since an earlier request, as the inspector's rows and words: a pure translation."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from helix_desktop.context.window.window_breakdown import (
    ItemChange,
    WindowChanges,
    WindowItem,
    compare_windows,
)
from helix_desktop.ui.inspector.from_window import window_rows
from helix_desktop.ui.inspector.inspector_data import InspectorState, RowChange, WindowChangesState, WindowRow
from helix_desktop.words.numbers import format_token_count, format_token_difference
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")

_MARKERS = ("cached", "arguments_cached", "images_cached")


def with_changes(
    state: InspectorState, before: tuple[WindowItem, ...], now: tuple[WindowItem, ...]
) -> InspectorState:
    """Return the state of the items `now` with what changed since those `before`."""
    changes = compare_windows(before, now)
    rows = tuple(
        replace(row, change=_change(item), difference=item.tokens)
        for row, item in zip(state.rows, changes.items, strict=True)
    )
    count, tokens = len(changes.gone), format_token_count(changes.gone_tokens)
    title = tr.plural(count, "%n left: {tokens}", "%n left: {tokens}", tokens=tokens)
    gone = WindowChangesState(_summary(changes), title if count else "", _gone_rows(changes))
    return replace(state, rows=rows, changes=gone)


def _change(change: ItemChange) -> RowChange:
    if change.before is None:
        return "new"
    if change.has_other_form:
        return "form"
    return "size" if change.tokens else ""


def _gone_rows(changes: WindowChanges) -> tuple[WindowRow, ...]:
    rows = window_rows(tuple(gone.item for gone in changes.gone))
    return tuple(
        replace(row, state=gone.into, change="gone", difference=-row.tokens, changed_since=0)
        for row, gone in zip(rows, changes.gone, strict=True)
    )


def _summary(changes: WindowChanges) -> str:
    """Return the whole difference in tokens, and what it is made of."""
    kinds = Counter(_change(item) for item in changes.items)
    markers = sum(item.has_other_form and item.item.state in _MARKERS for item in changes.items)
    into = Counter(gone.into for gone in changes.gone)
    summarized, noted = into.pop("summarized", 0), into.pop("noted", 0)
    others = kinds["form"] + kinds["size"] - markers
    counted = (
        (kinds["new"], tr.plural(kinds["new"], "%n new", "%n new")),
        (markers, tr.plural(markers, "%n became a marker", "%n became markers")),
        (others, tr.plural(others, "%n changed", "%n changed")),
        (noted, tr.plural(noted, "%n noted", "%n noted")),
        (summarized, tr.plural(summarized, "%n summarized", "%n summarized")),
        (into.total(), tr.plural(into.total(), "%n no longer sent", "%n no longer sent")),
    )
    parts = [words for count, words in counted if count]
    if not parts:
        return tr("Nothing changed")
    difference = format_token_difference(changes.tokens)
    return tr("{difference} tokens: {parts}", difference=difference, parts=", ".join(parts))
