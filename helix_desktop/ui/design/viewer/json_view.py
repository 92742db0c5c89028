"""The tree of a JSON content: folded and unfolded by mouse and keyboard."""

from __future__ import annotations

from collections import deque

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QGuiApplication, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem, QTreeView

from helix_desktop.ui.design.dynamic_style import set_style_sheet
from helix_desktop.ui.design.mirror import keep_left_to_right
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import Themed, current_theme
from helix_desktop.ui.design.viewer.json_tree import GROUP_SIZE, JsonNode
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_ROW_PX = 22
_PAD_PX = 4
_MAX_CHARACTERS = 300  # of a value on its row; the text has the rest
_FIRST_ROWS = 60  # rows that are unfolded at first, level by level
_ROWS_AT_ONCE, _LEVELS_AT_ONCE = 200, 12  # that one key unfolds at most

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class JsonModel(QAbstractItemModel):
    """The nodes of a tree, whose root's parts are the first rows."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._root = JsonNode([])

    def set_root(self, root: JsonNode) -> None:
        old_root = self._root  # views ask for its rows until the end
        self.beginResetModel()
        self._root = root
        self.endResetModel()
        del old_root

    def node(self, index: Index) -> JsonNode:
        """Return the node of a row; the root for none."""
        pointer = index.internalPointer() if index.isValid() else None
        return pointer if isinstance(pointer, JsonNode) else self._root

    def index(self, row: int, column: int, parent: Index = _ROOT) -> QModelIndex:
        children = self.node(parent).children
        if column or not 0 <= row < len(children):
            return QModelIndex()
        return self.createIndex(row, 0, children[row])

    def parent(self, index: Index = _ROOT) -> QModelIndex:  # type: ignore[override]  # Qt's second parent()
        above = self.node(index).parent
        if above is None or above is self._root:
            return QModelIndex()
        return self.createIndex(above.place, 0, above)

    def hasChildren(self, parent: Index = _ROOT) -> bool:
        """Return True if a row can be unfolded, without making its parts."""
        return self.node(parent).size > 0

    def rowCount(self, parent: Index = _ROOT) -> int:
        return len(self.node(parent).children) if self.node(parent).size else 0

    def columnCount(self, _parent: Index = _ROOT) -> int:
        return 1

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> str | None:
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return None
        name, value = row_texts(self.node(index))
        return tr("{name}: {value}", name=name, value=value) if value else name


class JsonView(Themed, QTreeView):
    """Shows a JsonNode. Arrows fold and unfold, * unfolds what a row holds, Ctrl+C copies its value."""

    def __init__(self) -> None:
        super().__init__()
        self._model = JsonModel(self)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # code
        self._delegate = _JsonDelegate(self._model, self)
        self.setModel(self._model)
        self.setItemDelegate(self._delegate)
        self.setObjectName("json-tree")
        self.setAccessibleName(tr("JSON tree"))
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.header().setStretchLastSection(False)
        self.header().setSectionResizeMode(self.header().ResizeMode.ResizeToContents)
        self.apply_theme()

    def show_root(self, root: JsonNode) -> None:
        """Show a tree, its upper levels unfolded as far as they take few rows."""
        self._model.set_root(root)
        self._unfold(QModelIndex(), _FIRST_ROWS)
        self.setCurrentIndex(self._model.index(0, 0))
        self.scrollToTop()

    def copy(self) -> None:
        """Copy the value of the current row; of what holds others the row's text."""
        index = self.currentIndex()
        if index.isValid():
            node = self._model.node(index)
            text = node.value if isinstance(node.value, str) and node.bounds is None else node.text
            QGuiApplication.clipboard().setText(str(text or self._model.data(index)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() == Qt.Key.Key_Asterisk and index.isValid():
            self._unfold(index, _ROWS_AT_ONCE)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.setExpanded(index, not self.isExpanded(index))
        elif event.key() == Qt.Key.Key_Space:
            event.ignore()
        else:
            super().keyPressEvent(event)

    def currentChanged(self, current: Index, previous: Index) -> None:
        """Draw both rows over the whole width: Qt draws their cells alone."""
        super().currentChanged(current, previous)
        self.viewport().update()

    def drawRow(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        is_current, top, height = index == self.currentIndex(), option.rect.top(), option.rect.height()
        if is_current:
            painter.fillRect(0, top, self.viewport().width(), height, QColor(self._theme.selection))
        super().drawRow(painter, option, index)
        if is_current and self.hasFocus():
            painter.fillRect(0, top, 3, height, QColor(self._theme.accent))

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFont(ui_font(12, is_code=True))
        self.setIndentation(scaled(18))
        set_style_sheet(
            self,
            f"QTreeView {{ background: {self._theme.code_surface}; color: {self._theme.text}; border: 0;"
            f" border-radius: 0; padding: 4px 8px; outline: 0; show-decoration-selected: 0; }}"
            f" QTreeView::item:selected {{ background: transparent; }}",
        )

    def _unfold(self, top: QModelIndex, max_rows: int) -> None:
        """Unfold a row and what it holds, level by level, while no more than so many rows come."""
        rows, waiting = 0, deque([(top, 0)])
        while waiting:
            index, level = waiting.popleft()
            count = min(self._model.node(index).size, GROUP_SIZE)
            if rows + count > max_rows and index != top:
                continue
            rows += count
            self.expand(index)
            parts = (self._model.index(row, 0, index) for row in range(self._model.rowCount(index)))
            if level + 1 < _LEVELS_AT_ONCE:
                waiting.extend((part, level + 1) for part in parts if self._model.hasChildren(part))


class _JsonDelegate(QStyledItemDelegate):
    def __init__(self, model: JsonModel, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model

    def sizeHint(self, _option: QStyleOptionViewItem, index: Index) -> QSize:
        text, metrics = str(self._model.data(index)), QFontMetricsF(ui_font(12, is_code=True))
        width = (
            len(text) * metrics.horizontalAdvance("0")  # all of one width
            if text.isascii()
            else metrics.horizontalAdvance(text)
        )
        return QSize(int(width) + 2 * _PAD_PX + 8, scaled(_ROW_PX))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        node, theme = self._model.node(index), current_theme()
        code = theme.code
        rect = QRectF(option.rect)
        painter.save()
        keep_left_to_right(painter)
        painter.setFont(ui_font(12, is_code=True))
        name, value = row_texts(node)
        is_name = node.parent is not None and not isinstance(node.parent.value, list) and node.kind != "group"
        colors = {"string": code.string, "number": code.number, "word": code.keyword}
        rect = rect.adjusted(_PAD_PX, 0, 0, 0)
        for text, color in (
            (f"{name}: " if value else name, code.function if is_name else theme.muted),
            (value, colors.get(node.kind, theme.muted)),
        ):
            painter.setPen(QColor(color))
            painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, text)
            rect.setLeft(rect.left() + painter.fontMetrics().horizontalAdvance(text))
        painter.restore()


def row_texts(node: JsonNode) -> tuple[str, str]:
    """Return a row's name and value; of what holds others, how many."""
    name = escape_invisible(node.name[:_MAX_CHARACTERS])
    match node.kind:
        case "object":
            return name, "{…} " + tr.plural(node.size, "%n member", "%n members") if node.size else "{}"
        case "array":
            return name, "[…] " + tr.plural(node.size, "%n item", "%n items") if node.size else "[]"
        case "group":
            return name, ""
    return name, escape_invisible(node.brief_text(_MAX_CHARACTERS))
