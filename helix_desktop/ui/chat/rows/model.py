"""The list of rows behind the chat view; every update costs the same at ten rows and at 100,000."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal

from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.chat.rows.row_types import AskRow, AssistantRow, DividerRow, NoticeRow, Row

_RECENT_ROWS = 256  # rows that are searched from the end before all keys are gathered


class ChatModel(QObject):
    """Rows in order, found by index or by key; tells the view what changed."""

    rows_reset = Signal()
    row_added = Signal(int)
    rows_changed = Signal(list)
    """Indexes of the rows that one update changed, so that views lay out once."""
    row_streamed = Signal(int, str)
    row_removed = Signal(int)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Row] = []
        self._index: dict[RowKey, int] | None = None
        self._arriving: dict[RowKey, list[str]] = {}
        self.is_loading = False  # rows are to come, though there is none

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> Row:
        """Return the row at an index, with all text that has arrived; IndexError when there is none."""
        row = self._rows[index]
        if row.key in self._arriving:
            row = self._joined_row(row)
        return row

    def raw_row(self, index: int) -> Row:
        """Return the row at an index without joining arriving text: for its kind and key only."""
        return self._rows[index]

    def raw_rows(self) -> Sequence[Row]:
        """Return all rows, without joining arriving text; not to be changed."""
        return self._rows

    def index_of(self, key: RowKey) -> int | None:
        if self._index is None:
            # What is asked for after opening stands at the end; 100,000 keys take longer than a frame.
            for at in range(len(self._rows) - 1, max(-1, len(self._rows) - _RECENT_ROWS), -1):
                if self._rows[at].key == key:
                    return at
        return self._keys().get(key)

    def reset(self, rows: Iterable[Row], *, is_loading: bool = False) -> None:
        """Show other rows, whose keys differ; `is_loading`: they are being read."""
        self._rows, self._index, self.is_loading = list(rows), None, is_loading
        self._arriving.clear()
        self.rows_reset.emit()

    def append(self, row: Row) -> None:
        """Add a row at the end; ValueError when its key is taken.

        Cards that wait for the user stay below; an answer that arrives, below what the log says before it.
        """
        keys = self._keys()
        if row.key in keys:
            raise ValueError(f"the key {row.key!r} is taken")
        at = len(self._rows)
        while at and _stays_below(self._rows[at - 1], row):
            at -= 1
        self._rows.insert(at, row)
        for after in range(at, len(self._rows)):
            keys[self._rows[after].key] = after
        self.row_added.emit(at)

    def replace(self, key: RowKey, row: Row) -> None:
        """Put a row in the place of another; KeyError when the key is unknown."""
        at = self._require_index(key)
        if row.key != key:
            keys = self._keys()
            if row.key in keys:
                raise ValueError(f"the key {row.key!r} is taken")
            del keys[key]
            keys[row.key] = at
        self._set(at, row)
        self.rows_changed.emit([at])

    def put(self, row: Row | None) -> None:
        """Add a row, or put it in the place of the one with its key; None changes nothing."""
        if row is not None:
            self.put_all([row])

    def put_all(self, rows: Iterable[Row]) -> None:
        """Like `put` for each row, but tell only once of all that changed."""
        changed: list[RowKey] = []
        for row in rows:
            at = self.index_of(row.key)
            if at is None:
                self.append(row)
            else:
                self._set(at, row)
                changed.append(row.key)
        if changed:
            self.rows_changed.emit([self._require_index(key) for key in changed])

    def stream(self, key: RowKey, delta_text: str) -> None:
        """Add arriving text to an answer; KeyError when the key is unknown, TypeError when no answer."""
        at = self._require_index(key)
        if not isinstance(self._rows[at], AssistantRow):
            raise TypeError(f"the row {key!r} is no answer, so text cannot be added")
        if delta_text:
            self._arriving.setdefault(key, []).append(delta_text)
            self.row_streamed.emit(at, delta_text)

    def remove(self, key: RowKey) -> None:
        """Take a row away, wherever it stands; KeyError when the key is unknown."""
        at = self._require_index(key)
        del self._rows[at]
        self._arriving.pop(key, None)
        if self._index is not None:
            del self._index[key]
            for after in range(at, len(self._rows)):
                self._index[self._rows[after].key] = after
        self.row_removed.emit(at)

    def discard(self, key: RowKey) -> None:
        """Take a row away if there is one with this key."""
        if self.index_of(key) is not None:
            self.remove(key)

    def _set(self, at: int, row: Row) -> None:
        self._arriving.pop(self._rows[at].key, None)
        self._rows[at] = row

    def _require_index(self, key: RowKey) -> int:
        at = self.index_of(key)
        if at is None:
            raise KeyError(key)
        return at

    def _keys(self) -> dict[RowKey, int]:
        if self._index is None:
            self._index = {row.key: at for at, row in enumerate(self._rows)}
        return self._index

    def _joined_row(self, row: Row) -> Row:
        deltas = self._arriving.pop(row.key)
        if not isinstance(row, AssistantRow):
            return row
        settled = replace(row, text=row.text + "".join(deltas))
        self._rows[self._require_index(row.key)] = settled
        return settled


def _stays_below(last: Row, row: Row) -> bool:
    if isinstance(last, AskRow):
        return not isinstance(row, AskRow)
    is_arriving = isinstance(last, AssistantRow) and last.streaming
    return is_arriving and isinstance(row, DividerRow | NoticeRow)
