"""JSON as a tree: parsed once, in a thread if need be, and folded by mouse and keyboard."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QGuiApplication, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
)

from helix_desktop.ui.design.choice_fields import Index
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import Themed, current_theme
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

MAX_JSON_BYTES = 1024 * 1024
"""Larger JSON stays text: a thread that parses it would hold up the window, and so would its many objects."""
GROUP_SIZE = 100  # children of a node; more stand in groups of so many, and groups of groups

NodeKind = Literal["object", "array", "group", "string", "number", "word"]
"""What a node is: a group holds some children of an object or array, a word is true, false or null."""


class Number(str):
    """A number as it is written: as a float it could be another one."""

    __slots__ = ()


Members = tuple[tuple[str, object], ...]
"""The members of an object, in order; a name may come twice. An array is a list."""


@dataclass(slots=True, eq=False)
class JsonNode:
    """One row of the tree. `name` is its member's name or its place; the root has none."""

    value: object
    name: str = ""
    parent: JsonNode | None = None
    bounds: tuple[int, int] | None = None  # of a group: its first child among all, and behind its last
    _children: list[JsonNode] | None = field(default=None, repr=False)

    @property
    def kind(self) -> NodeKind:
        match self.value:
            case _ if self.bounds is not None:
                return "group"
            case tuple():
                return "object"
            case list():
                return "array"
            case Number():
                return "number"
            case str():
                return "string"
        return "word"

    @property
    def size(self) -> int:
        if self.bounds is not None:
            return self.bounds[1] - self.bounds[0]
        return len(_items(self.value))

    @property
    def text(self) -> str:
        match self.value:
            case Number() as number:
                return str(number)
            case str() as text:
                return json.dumps(text, ensure_ascii=False)
            case bool() | None:
                return json.dumps(self.value)
        return ""

    def brief_text(self, max_chars: int) -> str:
        """Return its text; of a longer string or number so many characters and `…`."""
        if not isinstance(self.value, str) or len(self.value) <= max_chars:
            return self.text
        kind = type(self.value)
        return f"{JsonNode(kind(self.value[:max_chars])).text}…"

    @property
    def children(self) -> list[JsonNode]:
        """Return its parts, at most GROUP_SIZE; they are made when they are asked for."""
        if self._children is None:
            self._children = list(self._make_children())
        return self._children

    def _make_children(self) -> Iterator[JsonNode]:
        items = _items(self.value)
        start, stop = self.bounds or (0, len(items))
        step = 1
        while (stop - start) > step * GROUP_SIZE:
            step *= GROUP_SIZE
        for first in range(start, stop, step):
            last = min(first + step, stop)
            if step > 1:
                yield JsonNode(self.value, f"{first}–{last - 1}", self, (first, last))
            elif isinstance(self.value, tuple):
                name, value = self.value[first]
                yield JsonNode(value, name, self)
            else:
                yield JsonNode(items[first], str(first), self)


def may_be_json(data: bytes) -> bool:
    """Return True if bytes begin and end as an object or array does."""
    begin, end = data[:256].lstrip()[:1], data[-256:].rstrip()[-1:]
    return (begin, end) in ((b"{", b"}"), (b"[", b"]"))


def parse_json(data: bytes) -> JsonNode | None:
    """Return the root of an object or array; None for invalid JSON, and for what is too large or too deep."""
    if len(data) > MAX_JSON_BYTES or not may_be_json(data):
        return None
    try:
        # Functions of Python, not classes: at each call another thread may run.
        value = json.loads(
            data.decode(),
            object_pairs_hook=_members,
            parse_float=_number,
            parse_int=_number,
            parse_constant=_refuse,
        )
    except (ValueError, RecursionError):
        return None
    return JsonNode(value)


def _members(pairs: list[tuple[str, object]]) -> Members:
    return tuple(pairs)


def _number(text: str) -> Number:
    return Number(text)


def _refuse(text: str) -> object:
    raise ValueError(f"{text} is not JSON")


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


_ROW_PX = 22
_PAD_PX = 4
_MAX_CHARACTERS = 300  # of a value on its row; the text has the rest
_FIRST_ROWS = 60  # rows that are unfolded at first, level by level
_ROWS_AT_ONCE, _LEVELS_AT_ONCE = 200, 12  # that one key unfolds at most


class _Item(QTreeWidgetItem):
    def __init__(self, node: JsonNode) -> None:
        name, value = row_texts(node)
        super().__init__([tr("{name}: {value}", name=name, value=value) if value else name])
        self.node = node
        if node.size:
            self.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.ShowIndicator)


class JsonView(Themed, QTreeWidget):
    """Shows a JsonNode. Arrows fold and unfold, * unfolds what a row holds, Ctrl+C copies its value."""

    def __init__(self) -> None:
        super().__init__()
        self._delegate = _JsonDelegate(self)
        self.setItemDelegate(self._delegate)
        self.setObjectName("json-tree")
        self.setAccessibleName(tr("JSON tree"))
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self.setFrameShape(QTreeWidget.Shape.NoFrame)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.header().setStretchLastSection(False)
        self.header().setSectionResizeMode(self.header().ResizeMode.ResizeToContents)
        self.itemExpanded.connect(self._add_parts)
        self.apply_theme()

    def show_root(self, root: JsonNode) -> None:
        """Show a tree, whose root's parts are the first rows, its upper levels unfolded if that is little."""
        self.clear()
        self.addTopLevelItems([_Item(part) for part in root.children])
        self._unfold(self._parts(self.invisibleRootItem()), _FIRST_ROWS - len(root.children))
        self.setCurrentIndex(self.model().index(0, 0))
        self.scrollToTop()

    def copy(self) -> None:
        item = self.currentItem()
        if isinstance(item, _Item):
            node = item.node
            text = node.value if isinstance(node.value, str) and node.bounds is None else node.text
            QGuiApplication.clipboard().setText(str(text or item.text(0)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() == Qt.Key.Key_Asterisk and isinstance(item, _Item):
            self._unfold([item], _ROWS_AT_ONCE)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.setExpanded(self.currentIndex(), not self.isExpanded(self.currentIndex()))
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

    def _add_parts(self, item: QTreeWidgetItem) -> None:
        """Make the rows of what a row holds, when it is unfolded for the first time."""
        if isinstance(item, _Item) and not item.childCount():
            item.addChildren([_Item(part) for part in item.node.children])

    @staticmethod
    def _parts(item: QTreeWidgetItem) -> Iterator[_Item]:
        for place in range(item.childCount()):
            part = item.child(place)
            if isinstance(part, _Item) and part.node.size:
                yield part

    def _unfold(self, items: Iterable[_Item], max_rows: int) -> None:
        """Unfold rows and what they hold, level by level, while no more than so many rows come."""
        rows, waiting = 0, deque((item, 0) for item in items)
        while waiting:
            item, level = waiting.popleft()
            count = min(item.node.size, GROUP_SIZE)
            if rows + count <= max_rows:
                rows += count
                self.expandItem(item)
                if level + 1 < _LEVELS_AT_ONCE:
                    waiting.extend((part, level + 1) for part in self._parts(item))


class _JsonDelegate(QStyledItemDelegate):
    def __init__(self, view: JsonView) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self, _option: QStyleOptionViewItem, index: Index) -> QSize:
        text, metrics = str(index.data()), QFontMetricsF(ui_font(12, is_code=True))
        is_plain = text.isascii()  # then all are of one width
        width = len(text) * metrics.horizontalAdvance("0") if is_plain else metrics.horizontalAdvance(text)
        return QSize(int(width) + 2 * _PAD_PX + 8, scaled(_ROW_PX))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        item = self._view.itemFromIndex(index)
        assert isinstance(item, _Item)
        node, theme = item.node, current_theme()
        code, rect = theme.code, QRectF(option.rect).adjusted(_PAD_PX, 0, 0, 0)
        painter.save()
        painter.setFont(ui_font(12, is_code=True))
        name, value = row_texts(node)
        is_name = node.parent is not None and not isinstance(node.parent.value, list) and node.kind != "group"
        colors = {"string": code.string, "number": code.number, "word": code.keyword}
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
