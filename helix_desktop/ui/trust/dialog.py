"""The question whether a folder is trusted: where it lies, what trust allows, what in it could act."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QFrame, QScrollArea, QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import card, column, row
from helix_desktop.workspaces.auto_run_files import AutoRunFile

_WIDTH_PX = 540
_MAX_LIST_PX = 168
_CONSEQUENCES = (
    ("folder-open", "The agent may read its files, and they are sent to the model that you chose."),
    ("shield-question-mark", "It may change files and run commands, as far as you or your rules allow."),
    ("text-search", "Words in its files may try to talk the agent into something else than you want."),
)
_UNTRUSTED_NOTE = (
    "Until you trust it nothing runs and nothing is sent. You can look at the sessions and the cache, and "
    "change your mind at any time."
)


class TrustDialog(QDialog):
    """Accepted when the user trusts the folder; Enter decides nothing, Esc leaves it untrusted."""

    def __init__(self, parent: QWidget, name: str, path: str, auto_run_files: Sequence[AutoRunFile]) -> None:
        super().__init__(parent)
        self.setWindowTitle("Trust this folder?")
        self.setModal(True)
        self.setFixedWidth(_WIDTH_PX)
        self.decline_button = PushButton("Only look around", name="decline")
        self.decline_button.clicked.connect(self.reject)
        self.trust_button = PushButton("Trust this folder", "primary", "shield-check", name="trust")
        self.trust_button.clicked.connect(self.accept)
        place = label(path, "mono", wrap=True)
        place.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        head = row(
            IconLabel("shield-question-mark", px=22, color_token="accent_text"),
            column(label(f"Do you trust {name}?", "title", wrap=True), place, gap=4),
            gap=12,
        )
        head.setStretch(1, 1)
        first = head.itemAt(0)
        if first is not None:
            first.setAlignment(Qt.AlignmentFlag.AlignTop)
        means = column(*(_consequence_line(icon, words) for icon, words in _CONSEQUENCES), gap=7)
        self.setLayout(
            column(
                head,
                label("Trust the folder if you know what is in it:", "muted"),
                means,
                _auto_run_card(auto_run_files),
                label(_UNTRUSTED_NOTE, "note", wrap=True),
                4,
                row(None, self.decline_button, self.trust_button),
                margins=(22, 20, 22, 18),
                gap=12,
            )
        )
        self.decline_button.setFocus()

    def showEvent(self, event: QShowEvent) -> None:
        """Be as high as the wrapped words need."""
        super().showEvent(event)
        self.setFixedHeight(self.heightForWidth(self.width()))


def _consequence_line(icon_name: str, text: str) -> QWidget:
    parts = row(IconLabel(icon_name, px=16, color_token="muted"), label(text, wrap=True), gap=10)
    parts.setStretch(1, 1)
    line = QWidget()
    line.setLayout(parts)
    return line


def _auto_run_card(auto_run_files: Sequence[AutoRunFile]) -> QFrame:
    """Return what other programs run or obey in the folder."""
    if not auto_run_files:
        return card(row(label("Nothing in it is known to run by itself.", "muted"), margins=(14, 10, 14, 10)))
    lines = column(
        *(_auto_run_item(auto_run_file) for auto_run_file in auto_run_files),
        None,
        gap=8,
        margins=(13, 6, 13, 4),
    )
    inner = QWidget()
    inner.setObjectName("page")
    inner.setLayout(lines)
    area = QScrollArea()
    area.setWidget(inner)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFixedHeight(min(_MAX_LIST_PX, inner.heightForWidth(_WIDTH_PX - 60)))
    words = label(
        "In it lies what other programs run or obey. Helix Desktop does neither:", "muted", wrap=True
    )
    return card(column(row(words, margins=(14, 10, 14, 0)), area, gap=2, margins=(1, 0, 1, 6)))


def _auto_run_item(item: AutoRunFile) -> QWidget:
    container = QWidget()
    container.setLayout(
        column(label(item.path, "mono", wrap=True), label(item.effect, "faint", wrap=True), gap=1)
    )
    return container
