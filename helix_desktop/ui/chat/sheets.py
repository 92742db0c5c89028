"""Sheets by row: made when a row comes into sight, kept while they are likely to be seen again."""

from __future__ import annotations

from collections import OrderedDict

from helix_desktop.ui.chat.approval_sheet import ApprovalSheet
from helix_desktop.ui.chat.card_sheets import DividerSheet, NoticeSheet
from helix_desktop.ui.chat.highlight import Highlighter
from helix_desktop.ui.chat.look import Look
from helix_desktop.ui.chat.message_sheets import AssistantSheet, UserSheet
from helix_desktop.ui.chat.model import ChatModel
from helix_desktop.ui.chat.prose import ProseWriter
from helix_desktop.ui.chat.rows import (
    ApprovalRow,
    AssistantRow,
    DividerRow,
    NoticeRow,
    Row,
    ToolRow,
    UserRow,
)
from helix_desktop.ui.chat.sections import Reading
from helix_desktop.ui.chat.sheet import Setting, Sheet, Studio
from helix_desktop.ui.chat.todo_sheet import TodoSheet
from helix_desktop.ui.chat.tool_sheet import ToolSheet

KEPT = 96  # sheets; a screen shows about ten
_LOOK_BACK = 64  # rows; further back nobody remembers who speaks

_FAILED = ("failed", "denied")  # a list that was not taken is shown as what it is: a call that failed
ESTIMATES: dict[type[Row], float] = {
    UserRow: 86.0,
    AssistantRow: 300.0,
    ToolRow: 50.0,
    ApprovalRow: 240.0,
    DividerRow: 46.0,
    NoticeRow: 110.0,
}


class Sheets:
    """Least recently used sheets, and which of their folds are open."""

    def __init__(self, model: ChatModel, look: Look, highlighter: Highlighter) -> None:
        self._model = model
        self._studio = Studio(look, ProseWriter(look), highlighter)
        self._kept: OrderedDict[str, Sheet] = OrderedDict()
        self._opened: dict[str, frozenset[str]] = {}
        self._readings: dict[str, Reading] = {}  # of sheets in a former look

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def look(self) -> Look:
        """The look that sheets are made in."""
        return self._studio.look

    def use(self, look: Look) -> None:
        """Make all sheets anew in another look."""
        self._studio.highlighter.clear()
        sheets = self._kept.items()
        self._readings |= {key: one.reading() for key, one in sheets if isinstance(one, AssistantSheet)}
        self._studio = Studio(look, ProseWriter(look), self._studio.highlighter)
        self._kept.clear()

    def clear(self) -> None:
        """Forget all sheets and open folds."""
        self._studio.highlighter.clear()
        self._kept.clear()
        self._opened.clear()
        self._readings.clear()

    def drop(self, key: str) -> None:
        """Make the sheet of a key anew when it is needed again."""
        self._kept.pop(key, None)

    def kept(self, key: str) -> Sheet | None:
        """The sheet of a key if it is there already."""
        return self._kept.get(key)

    def get(self, index: int) -> Sheet:
        """The sheet of a row, made when needed; not laid out."""
        shape = self._model.shape(index)
        setting = Setting(self._head(index, shape), self._opened.get(shape.key, frozenset()))
        sheet = self._kept.get(shape.key)
        if sheet is not None and sheet.setting == setting and self._current(sheet, shape):
            self._kept.move_to_end(shape.key)
            return sheet
        reading = self._kept_reading(sheet, shape.key)
        sheet = _make(self._model.row(index), setting, self._studio, reading)
        self._kept[shape.key] = sheet
        self._kept.move_to_end(shape.key)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return sheet

    def is_open(self, key: str, fold: str) -> bool:
        """Whether a fold of a row is open."""
        return fold in self._opened.get(key, frozenset())

    def toggle(self, key: str, fold: str) -> None:
        """Open or close a fold of a row."""
        self._opened[key] = self._opened.get(key, frozenset()) ^ {fold}

    def choose(self, key: str, group: str, name: str) -> None:
        """Choose one of a group in a row, in the place of the one that was chosen."""
        others = {one for one in self._opened.get(key, ()) if not one.startswith(f"{group}:")}
        self._opened[key] = frozenset({*others, f"{group}:{name}"})

    def chosen(self, key: str, group: str) -> str:
        """Which of a group is chosen in a row; empty while nobody chose."""
        begin = f"{group}:"
        opened = self._opened.get(key, frozenset())
        return next((one.removeprefix(begin) for one in opened if one.startswith(begin)), "")

    def gap(self, index: int) -> float:
        """Room above a row, pixels."""
        if index == 0:
            return self.look.px(20)
        return self.look.px(_gap(self._model.shape(index), self._model.shape(index - 1)))

    def _kept_reading(self, former: Sheet | None, key: str) -> Reading | None:
        """What has been read for a sheet that this one comes after, in another look or with other folds."""
        return former.reading() if isinstance(former, AssistantSheet) else self._readings.pop(key, None)

    def _current(self, sheet: Sheet, shape: Row) -> bool:
        """A streaming sheet has taken the arrived text itself; others must show this very row."""
        if isinstance(shape, AssistantRow) and shape.streaming:
            return isinstance(sheet, AssistantSheet) and sheet.busy
        return sheet.row is shape

    def _head(self, index: int, row: Row) -> bool:
        """Whether an answer is the first of its turn, or comes from another model than the last one."""
        if not isinstance(row, AssistantRow):
            return False
        for at in range(index - 1, max(-1, index - _LOOK_BACK), -1):
            before = self._model.shape(at)
            if isinstance(before, UserRow):
                return True
            if isinstance(before, AssistantRow):
                return before.model != row.model
        return True


def _gap(row: Row, before: Row) -> float:
    if isinstance(row, UserRow):
        return 30.0
    if isinstance(before, UserRow):
        return 20.0
    if isinstance(row, ToolRow) and isinstance(before, ToolRow):
        return 8.0
    if isinstance(row, DividerRow) or isinstance(before, DividerRow):
        return 10.0
    return 14.0


def _make(row: Row, setting: Setting, studio: Studio, reading: Reading | None) -> Sheet:
    match row:
        case UserRow():
            return UserSheet(row, setting, studio)
        case AssistantRow():
            return AssistantSheet(row, setting, studio, reading)
        case ToolRow():
            kind = TodoSheet if row.todo and row.state not in _FAILED else ToolSheet
            return kind(row, setting, studio)
        case ApprovalRow():
            return ApprovalSheet(row, setting, studio)
        case DividerRow():
            return DividerSheet(row, setting, studio)
        case NoticeRow():
            return NoticeSheet(row, setting, studio)
