"""The guide's window: topics at the left, the chosen one at the right; it needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLayout, QWidget

from helix_desktop.ui.design.focus import FocusableScrollArea
from helix_desktop.ui.design.labels import key_label, label
from helix_desktop.ui.design.layout.boxes import LayoutItem, clear_layout, column, row
from helix_desktop.ui.design.layout.scrolling import KeepsPageWidth
from helix_desktop.ui.design.page_stack import PageStack, StackedPage
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.help.guide_texts import TOPICS, Topic, topic_lead, topic_sections, topic_title
from helix_desktop.words.translation import Translator

tr = Translator("Guide")

_SIZE, _MIN_SIZE, _TEXT_PX = (860, 640), (560, 420), 620
_ICONS: dict[Topic, str] = {
    "context": "layers",
    "cached": "archive",
    "noted": "file-text",
    "summarized": "book-open",
    "undo": "undo-2",
    "changes": "diff",
    "policy": "settings",
    "instructions": "info",
    "messages": "at-sign",
    "commands": "square-terminal",
    "edge_cases": "circle-alert",
    "keys": "keyboard",
}


class GuideDialog(Themed, SizedDialog):
    """Not modal, so that it can stay open beside the work."""

    def __init__(self, parent: QWidget, shortcuts: Sequence[tuple[str, str]]) -> None:
        """`shortcuts` are pairs of a command's words and its keys, several parted by ", "."""
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setWindowTitle(tr("Guide"))
        self.setModal(False)
        self._shortcuts, self._keys = tuple(shortcuts), column()
        self._pages = PageStack(
            tr("Guide"),
            [
                StackedPage(topic, topic_title(topic), _ICONS[topic], partial(self._build_page, topic))
                for topic in TOPICS
            ],
        )
        self.setLayout(column(self._pages))

    def show_shortcuts(self, shortcuts: Sequence[tuple[str, str]]) -> None:
        """List these shortcuts, in place of the previous ones."""
        self._shortcuts = tuple(shortcuts)
        if self._keys.parent() is not None:
            self._fill_keys()

    def _fill_keys(self) -> None:
        clear_layout(self._keys)
        grid = QWidget()
        grid.setLayout(_shortcut_grid(self._shortcuts))
        self._keys.addWidget(grid)

    def _build_page(self, topic: Topic) -> QWidget:
        page = _topic_page(topic, self._keys)
        if topic == "keys":
            self._fill_keys()
        return page

    def show_topic(self, topic: str) -> None:
        """Show one topic; an unknown one shows the first."""
        self._pages.show_page(topic if topic in TOPICS else TOPICS[0])
        self.show()
        self.raise_()
        self.activateWindow()
        if self.is_by_keyboard:
            self._pages.focus_name()
        else:
            self.setFocus(Qt.FocusReason.OtherFocusReason)


class _TopicArea(KeepsPageWidth, FocusableScrollArea):
    """Scrolls a topic by the keyboard, too."""


def _topic_page(topic: Topic, shortcuts: QLayout) -> QWidget:
    parts: list[LayoutItem] = [
        label(topic_title(topic), "heading"),
        _paragraph(topic_lead(topic), "muted"),
        8,
    ]
    for section in topic_sections(topic):
        parts += [6, label(section.heading, "strong"), *map(_paragraph, section.paragraphs)]
        if section.rows:
            parts.append(_grid([(label(name, "mono"), _paragraph(text)) for name, text in section.rows]))
        parts += [column(_paragraph(name), _paragraph(text, "muted"), gap=2) for name, text in section.cases]
    if topic == "keys":
        parts.append(shortcuts)
    inner = QWidget()
    inner.setObjectName("page")
    text = QWidget()
    text.setMaximumWidth(_TEXT_PX)
    text.setLayout(column(*parts, None, gap=8))
    across = row(text, None, margins=(28, 24, 28, 24))
    across.setStretch(0, 100)
    inner.setLayout(across)
    scroll = _TopicArea()
    scroll.setWidget(inner)
    scroll.setWidgetResizable(True)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setAccessibleName(topic_title(topic))
    return scroll


def _paragraph(text: str, role: str = "") -> QWidget:
    return label(text, role, wrap=True)


def _shortcut_grid(shortcuts: Sequence[tuple[str, str]]) -> QGridLayout:
    rows = [
        (_paragraph(words, "muted"), row(None, *(key_label(key) for key in keys.split(", ")), gap=4))
        for words, keys in shortcuts
    ]
    return _grid(rows, wide=0)


def _grid(rows: Sequence[tuple[QWidget, QWidget | QLayout]], wide: int = 1) -> QGridLayout:
    """Return rows of two columns, of which the one numbered `wide` takes the room there is."""
    grid = QGridLayout()
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(14)
    grid.setVerticalSpacing(9)
    grid.setColumnStretch(wide, 1)
    for place, (first, second) in enumerate(rows):
        grid.addWidget(first, place, 0)
        if isinstance(second, QWidget):
            grid.addWidget(second, place, 1)
        else:
            grid.addLayout(second, place, 1)
    return grid
