"""Finds texts on screen that do not fit where they stand."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListWidget,
    QMenuBar,
    QPlainTextEdit,
    QScrollArea,
    QScrollBar,
    QSizeGrip,
    QSplitterHandle,
    QStyle,
    QStyleOptionComboBox,
    QTableView,
    QToolButton,
    QTreeWidget,
    QWidget,
)

from helix_desktop.ui.design.cards import DisclosureHead
from helix_desktop.ui.design.drops import DropHint
from helix_desktop.ui.design.labels import ElidedLabel, TextLine
from helix_desktop.ui.design.style.fonts import ui_font
from helix_desktop.ui.kit.notices import NoticeArea, NoticeCover, NoticeShadow
from helix_desktop.ui.rows.quick_picker import QuickPicker
from helix_desktop.ui.rows.row_widget import RowArea
from helix_desktop.ui.window.panes import SIDEBAR_MIN_WINDOW_PX
from helix_desktop.ui.window.status_lines import JobLines

_TOLERANCE_PX = 2  # rounding of fractional text sizes
_MIN_SHORTENED_PX = 44  # of a shortened text: a word, not a letter and three dots
_HEADER_PAD_PX = 28  # around the name of a column, by style sheet and style
_ROWS = 12  # of a table that are looked at
_LINE_EDIT_GAP_PX = 4  # that Qt leaves at both ends of a line edit
_FLOATING = (
    QScrollBar,
    QSizeGrip,
    QSplitterHandle,
    QuickPicker,
    DropHint,
    NoticeArea,
    NoticeCover,
    NoticeShadow,
    JobLines,
)
"""Widgets that lie over others on purpose."""


def cut_texts(root: QWidget) -> list[str]:
    """Return what does not fit below `root`, with the pixels it has and those it needs."""
    found = []
    for widget in (root, *root.findChildren(QWidget)):
        if widget is not root and (widget.isWindow() or not widget.isVisibleTo(root)):
            continue
        found += [f"{_path(widget, root)}: {problem}" for problem in _problems(widget, root)]
        found += [f"{_path(widget, root)}: {problem}" for problem in _clipped_children(widget)]
    return found


def _path(widget: QWidget, root: QWidget) -> str:
    """Return the way to a widget, by classes and names."""
    names: list[str] = []
    step: QWidget | None = widget
    while step is not None and len(names) < 4:
        names.append(type(step).__name__ + (f"#{step.objectName()}" if step.objectName() else ""))
        step = None if step is root else step.parentWidget()
    return " < ".join(names)


def _problems(widget: QWidget, root: QWidget) -> Iterator[str]:
    match widget:
        case ElidedLabel() | DisclosureHead():
            yield from _shortened(widget, widget.full_text(), widget.full_width())
        case TextLine():
            yield from _shortened(widget, widget.text, widget.sizeHint().width())
        case QHeaderView():
            yield from _cut_sections(widget)
        case QMenuBar():
            for action in widget.actions():
                if action.isVisible() and not widget.rect().contains(widget.actionGeometry(action)):
                    yield f"no room for {action.text()!r}"
        case QTableView() | QListWidget() | QTreeWidget():
            yield from _cut_cells(widget)
        case QScrollArea():
            content = widget.widget() or widget.viewport()
            scrolls = widget.horizontalScrollBarPolicy() != Qt.ScrollBarPolicy.ScrollBarAlwaysOff
            if not (scrolls and root.width() < SIDEBAR_MIN_WINDOW_PX):  # else it is too narrow for all words
                yield from _too_wide("content", content.width(), widget.viewport().width())
        case _:
            yield from _cut(widget)


def _cut(widget: QWidget) -> Iterator[str]:
    """Yield a widget's text if it lacks room; one without is not measured: that lays out all its children."""
    if not (text := _text(widget)):
        return
    needed, room = _size_of_text(widget, text)
    over = max(needed.width() - room.width(), needed.height() - room.height())
    can_be_cut = isinstance(widget, QComboBox | QLineEdit) and text in widget.toolTip()
    if over > _TOLERANCE_PX and not can_be_cut:
        yield f"{text!r} needs {_pair(needed)} px, has {_pair(room)}"


def _pair(size: QSize) -> str:
    return f"{size.width()} x {size.height()}"


def _too_wide(text: str, needed: int, room: int) -> Iterator[str]:
    if needed > room + _TOLERANCE_PX:
        yield f"{text!r} needs {needed} px, has {room}"


def _shortened(widget: QWidget, text: str, needed: int) -> Iterator[str]:
    """Yield what is wrong with a text that may be shortened: its tooltip has it, and a word is left of it."""
    if needed <= widget.width() + _TOLERANCE_PX:
        return
    if text not in widget.toolTip():
        yield f"{text!r} is shortened, and no tooltip has it"
    if widget.width() < min(needed, _MIN_SHORTENED_PX):
        yield f"{text!r} is shortened to {widget.width()} px"


def _cut_sections(header: QHeaderView) -> Iterator[str]:
    if header.orientation() == Qt.Orientation.Vertical:
        return
    role = Qt.ItemDataRole
    model = header.model()
    metrics = QFontMetricsF(ui_font(11, 600))
    for at in range(header.count()):
        text = str(model.headerData(at, header.orientation(), role.DisplayRole) or "")
        tooltip = str(model.headerData(at, header.orientation(), role.ToolTipRole) or "")
        if text and not header.isSectionHidden(at) and text not in tooltip:
            needed = round(metrics.horizontalAdvance(text)) + _HEADER_PAD_PX
            yield from _too_wide(text, needed, header.sectionSize(at))


def _cut_cells(view: QTableView | QListWidget | QTreeWidget) -> Iterator[str]:
    model = view.model()
    role = Qt.ItemDataRole
    columns = 1 if isinstance(view, QListWidget) else model.columnCount()
    for row in range(min(model.rowCount(), _ROWS)):
        for column in range(columns):
            index = model.index(row, column)
            text = str(index.data(role.DisplayRole) or "")
            room = view.visualRect(index).width()
            if not room or text in str(index.data(role.ToolTipRole) or ""):
                continue
            yield from _too_wide(text, view.fontMetrics().horizontalAdvance(text), room)


def _text(widget: QWidget) -> str:
    """Return the text that a widget shows, of an empty field its placeholder; nothing if it shows none."""
    text = ""
    match widget:
        case QLabel() if widget.textFormat() != Qt.TextFormat.RichText:
            text = widget.text()
        case QToolButton() if widget.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly:
            pass
        case QAbstractButton():
            text = widget.text()
        case QComboBox():
            text = widget.currentText()
        case QLineEdit() if not (isinstance(widget.parentWidget(), QComboBox) or widget.text()):
            text = widget.placeholderText()
        case QPlainTextEdit() if not widget.toPlainText():
            text = widget.placeholderText()
    return text


def _size_of_text(widget: QWidget, text: str) -> tuple[QSize, QSize]:
    match widget:
        case QLineEdit():
            return _placeholder_size(widget, text)
        case QPlainTextEdit():
            return _placeholder_block_size(widget, text)
        case QComboBox():
            needed = QSize(widget.fontMetrics().horizontalAdvance(text), 0)
            room = QSize(_combo_room_px(widget), 0)
        case _:
            needed = widget.sizeHint()
            room = widget.size()
    if widget.hasHeightForWidth():
        needed = QSize(widget.minimumSizeHint().width(), widget.heightForWidth(widget.width()))
    return needed, room


def _combo_room_px(combo: QComboBox) -> int:
    option = QStyleOptionComboBox()
    option.initFrom(combo)
    option.editable = combo.isEditable()
    field = combo.style().subControlRect(
        QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, combo
    )
    return field.width()


def _placeholder_size(field: QLineEdit, text: str) -> tuple[QSize, QSize]:
    buttons = [button for button in field.findChildren(QToolButton) if button.isVisibleTo(field)]
    room = field.contentsRect().width() - sum(button.width() for button in buttons) - 2 * _LINE_EDIT_GAP_PX
    return QSize(field.fontMetrics().horizontalAdvance(text), 0), QSize(room, 0)


def _placeholder_block_size(field: QPlainTextEdit, text: str) -> tuple[QSize, QSize]:
    margin = round(field.document().documentMargin())
    area = field.viewport().rect().adjusted(margin, margin, -margin, -margin)
    block = QRect(0, 0, area.width(), 10_000)
    needed = field.fontMetrics().boundingRect(block, Qt.TextFlag.TextWordWrap, text)
    return needed.size(), area.size()


def _clipped_children(parent: QWidget) -> Iterator[str]:
    """Yield children that stand outside their parent or on one another, unless it scrolls them."""
    if parent.objectName() == "qt_scrollarea_viewport" or isinstance(parent, RowArea):
        return
    children = [
        child
        for child in parent.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if not child.isWindow() and child.isVisibleTo(parent) and not isinstance(child, _FLOATING)
    ]
    around = parent.rect().adjusted(-_TOLERANCE_PX, -_TOLERANCE_PX, _TOLERANCE_PX, _TOLERANCE_PX)
    for number, child in enumerate(children):
        box = child.geometry()
        if box.isEmpty():
            continue
        if not around.contains(box):
            yield f"{_label(child)} at {box.getRect()} stands outside {parent.rect().getRect()}"
        for other in children[:number]:
            common = box & other.geometry()
            if common.width() > _TOLERANCE_PX and common.height() > _TOLERANCE_PX:
                yield f"{_label(child)} at {box.getRect()} covers {_label(other)}"


def _label(widget: QWidget) -> str:
    return f"{type(widget).__name__} {widget.objectName() or widget.accessibleName()!r}"
