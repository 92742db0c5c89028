"""What the user does with cached contents, by menu, key or button."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from helix_desktop.context.intake.marker import marker
from helix_desktop.domain.digest import bare_marker
from helix_desktop.ui.cache.columns import COLUMN_INDEX, COLUMNS, ColumnKey
from helix_desktop.ui.cache.preview.pane import Preview
from helix_desktop.ui.cache.recall_selection import MAX_RECALLED, RecallSelection
from helix_desktop.ui.cache.rows import CacheRow
from helix_desktop.ui.cache.table import CacheTable
from helix_desktop.ui.kit.commands import PageKeys
from helix_desktop.ui.kit.intents import Intent, Recall, perform
from helix_desktop.words.translation import translate

_TABLE_COLUMNS: tuple[ColumnKey, ...] = (
    *("digest", "tool", "target", "line", "size", "tokens", "created", "used"),
)
"""What a row has in a spreadsheet, in this order: see `table_line`."""


# What entries of the cache want, which are named by their digests.
# fmt: off

# so many that the user is asked first
class RecallMany(Intent, frozen=True):
    digests: tuple[str, ...]
# send it in full again, where it stands in the session
class RecallIntoContext(Intent, frozen=True):
    digest: str
class VerifyEntries(Intent, frozen=True):
    digests: tuple[str, ...]
class VerifyAllEntries(Intent, frozen=True): ...
class SaveEntry(Intent, frozen=True):  # as a file
    digest: str
class ExportEntries(Intent, frozen=True):  # into a folder or a zip
    digests: tuple[str, ...]
class PinEntries(Intent, frozen=True):  # no clean-up takes what is pinned
    digests: tuple[str, ...]
    is_pinned: bool
class TrashEntries(Intent, frozen=True):
    digests: tuple[str, ...]
class UndoTrash(Intent, frozen=True): ...  # the last move to the trash
class RestoreEntries(Intent, frozen=True):
    digests: tuple[str, ...]
class CopyEntryLinks(Intent, frozen=True):
    digests: tuple[str, ...]
class ShowEntryInChat(Intent, frozen=True):
    digest: str
class ShowEntryInTimeline(Intent, frozen=True):
    digest: str

# fmt: on


class EntryActions(QObject):
    """Actions on the entries selected in a table, one of which is in the preview."""

    def __init__(self, table: CacheTable, preview: Preview, keys: PageKeys) -> None:
        super().__init__(table)
        self.table, self.preview, self.keys = table, preview, keys
        preview.recall_button.clicked.connect(self.recall)
        preview.verify_button.clicked.connect(self._verify_shown)
        preview.export_button.clicked.connect(self._export_shown)
        for changed in (table.selectionModel().selectionChanged, table.model().dataChanged):
            changed.connect(lambda *_: self._show_selection())

    @property
    def recall_selection(self) -> RecallSelection:
        """Return how many of the selected contents can be recalled, and what they cost as far as known."""
        count = self.count_of(is_readable)
        sound = [row for row in self.table.selected_rows() if is_readable(row)]
        return RecallSelection(count, sum(row.tokens for row in sound) if len(sound) == count else None)

    def perform(self, intent: Intent) -> None:
        perform(self.table, intent)

    def recall(self) -> None:
        """Recall the selected lines of the preview, or all of each selected content."""
        preview = self.preview
        if self.table.selected_count() > 1:
            self.recall_whole()
        elif preview.recall_button.isEnabled() and preview.digest:
            self.perform(Recall(preview.digest, *preview.lines))

    def recall_whole(self) -> None:
        """Recall all of each selected content; of very many, ask first, which says what they cost."""
        digests = self.digests_of(is_readable)
        if len(digests) > MAX_RECALLED:
            self.perform(RecallMany(digests))
            return
        for digest in digests:
            self.perform(Recall(digest))

    def _show_selection(self) -> None:
        """Let the buttons of the preview stand for all selected entries, as the keys do."""
        several = self.table.selected_count() > 1
        self.preview.show_selection(self.recall_selection if several else None)

    def _verify_shown(self) -> None:
        several = self.table.selected_count() > 1
        self.perform(VerifyEntries(self.table.selected_digests() if several else (self.preview.digest,)))

    def _export_shown(self) -> None:
        if self.table.selected_count() > 1:
            self.perform(ExportEntries(self.digests_of(is_readable)))
        else:
            self.perform(SaveEntry(self.preview.digest))

    def count_of(self, suits: Callable[[CacheRow], bool]) -> int:
        return self.table.selected_count() - sum(not suits(row) for row in self.table.selected_rows())

    def digests_of(self, suits: Callable[[CacheRow], bool]) -> tuple[str, ...]:
        """Return the digests of the selected rows, but for those that are known not to suit."""
        unsuited = {row.digest for row in self.table.selected_rows() if not suits(row)}
        return tuple(digest for digest in self.table.selected_digests() if digest not in unsuited)

    def verify(self) -> None:
        digests = self.table.selected_digests()
        if digests:
            self.perform(VerifyEntries(digests))

    def export(self) -> None:
        """Save the selected content as a file, or several into a folder."""
        if self.table.selected_count() > 1 or self.preview.export_button.isEnabled():
            self._export_shown()

    def copy_links(self) -> None:
        self.perform(CopyEntryLinks(self.table.selected_digests()))

    def toggle_pin(self) -> None:
        """Have the selected entries pinned, or, where all are, no longer."""
        digests, rows = self.digests_of(is_untrashed), self.table.selected_rows()
        if digests:
            self.perform(PinEntries(digests, not all(row.is_pinned for row in rows if is_untrashed(row))))

    def move_to_trash(self) -> None:
        digests = self.digests_of(is_untrashed)
        if digests:
            self.perform(TrashEntries(digests))

    def copy_digests(self) -> None:
        """Copy the SHA-256 of each selected content, one per line."""
        digests = self.table.selected_digests()
        if digests == (self.preview.digest,):
            self.preview.copy_digest()  # its button shows it
        elif digests:
            _copy(digests)

    def copy_markers(self) -> None:
        """Copy the marker of each selected content, one per line."""
        _copy([_marker_text(row) for row in self.table.selected_rows()])

    def copy_table(self) -> None:
        head = "\t".join(translate(COLUMNS[COLUMN_INDEX[key]].title) for key in _TABLE_COLUMNS)
        _copy([head, *map(table_line, self.table.selected_rows())])


def is_readable(row: CacheRow) -> bool:
    return row.state not in ("damaged", "in_trash")


def is_untrashed(row: CacheRow) -> bool:
    return row.state != "in_trash"


def table_line(row: CacheRow) -> str:
    """Return a row for a spreadsheet: times in UTC, and no cell that it would take for a formula."""
    times = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (row.created_at_ms, row.last_used_at_ms))
    cells = (
        *(row.digest, row.tool, row.target, row.first_line, str(row.size), str(row.tokens)),
        *(time.isoformat(timespec="seconds") for time in times),
    )
    plain = (" ".join(cell.split()) for cell in cells)
    return "\t".join(f"'{cell}" if cell.startswith(("=", "+", "-", "@")) else cell for cell in plain)


def _marker_text(row: CacheRow) -> str:
    """Return a content's marker as it stands in the context; of what is no output, its way back alone."""
    if row.state == "index" or row.tool == "argument":
        return bare_marker(row.digest)
    return marker(row.digest, row.tool, row.target, row.size, row.first_line)


def _copy(lines: Sequence[str]) -> None:
    QGuiApplication.clipboard().setText("\n".join(lines))
