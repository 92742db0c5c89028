"""The question whether a folder is trusted: where it lies, what trust allows, what in it could act."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QFrame, QLayout, QScrollArea, QWidget

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import card, column, pane, row
from helix_desktop.ui.design.tab_order import TabsInReadingOrder
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.auto_run_files import AutoRunFile

tr = Translator("Trust")
text = TextContext("Trust")

_WIDTH_PX, _MARGIN_PX = 540, 22
_MAX_LIST_PX = 168
_CONSEQUENCES = (
    ("folder-open", text("The agent can read the files and send them to your model.")),
    (
        "shield-question-mark",
        text("The agent can change files and run commands if you or your rules allow it."),
    ),
    ("text-search", text("Files may contain instructions that mislead the agent (prompt injection).")),
)


class TrustDialog(TabsInReadingOrder, QDialog):
    """Accepted when the user trusts the folder; Enter decides nothing, Esc leaves it untrusted."""

    def __init__(self, parent: QWidget, name: str, path: str, auto_run_files: Sequence[AutoRunFile]) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Trust this folder?"))
        self.setModal(True)
        self.setFixedWidth(_WIDTH_PX)
        self.decline_button = PushButton(tr("Open in restricted mode"), name="decline")
        self.decline_button.clicked.connect(self.reject)
        self.trust_button = PushButton(tr("Trust folder"), "primary", "shield-check", name="trust")
        self.trust_button.clicked.connect(self.accept)
        self._buttons = row(None, self.decline_button, self.trust_button)
        place = label(path, "mono", wrap=True)
        place.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        head = row(
            IconLabel("shield-question-mark", px=22, color_token="accent_text"),
            column(label(tr("Do you trust {folder}?", folder=name), "title", wrap=True), place, gap=4),
            gap=12,
            stretch=1,
        )
        first = head.itemAt(0)
        if first is not None:
            first.setAlignment(Qt.AlignmentFlag.AlignTop)
        means = column(*(_consequence_line(icon, translate(words)) for icon, words in _CONSEQUENCES), gap=7)
        restricted_note = tr(
            "In restricted mode, nothing runs or is sent. You can view sessions and cache, and trust the "
            "folder later."
        )
        self.setLayout(
            column(
                head,
                label(
                    tr("Trust it only if you know what it contains. In a trusted folder:"), "muted", wrap=True
                ),
                means,
                _auto_run_card(auto_run_files),
                label(restricted_note, "note", wrap=True),
                4,
                self._buttons,
                margins=(_MARGIN_PX, 20, _MARGIN_PX, 18),
                gap=12,
            )
        )
        self.decline_button.setFocus()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.setFixedWidth(max(_WIDTH_PX, self._buttons.sizeHint().width() + 2 * _MARGIN_PX))
        self.setFixedHeight(self.heightForWidth(self.width()))


def _consequence_line(icon_name: str, text: str) -> QWidget:
    parts = row(IconLabel(icon_name, px=16, color_token="muted"), label(text, wrap=True), gap=10, stretch=1)
    return pane(parts)


def _auto_run_card(auto_run_files: Sequence[AutoRunFile]) -> QFrame:
    followed = [item for item in auto_run_files if item.is_followed]
    others = [item for item in auto_run_files if not item.is_followed]
    parts: list[QLayout | QWidget] = []
    if followed:
        heading = label(tr("The agent follows what these files say:"), "muted", wrap=True)
        parts.append(column(heading, *map(_auto_run_item, followed), gap=8, margins=(14, 10, 14, 6)))
    if others:
        found = tr("Other programs run or follow these files (Helix Desktop doesn't):")
        words = label(found, "muted", wrap=True)
        parts += [row(words, margins=(14, 10, 14, 0)), _scrolled_items(others)]
    else:
        parts.append(row(label(tr("No auto-run files found."), "muted"), margins=(14, 10, 14, 10)))
    return card(column(*parts, gap=2, margins=(1, 0, 1, 6 if others else 0)))


def _scrolled_items(items: Sequence[AutoRunFile]) -> QScrollArea:
    lines = column(
        *map(_auto_run_item, items),
        None,
        gap=8,
        margins=(13, 6, 13, 4),
    )
    inner = pane(lines)
    inner.setObjectName("page")
    area = QScrollArea()
    area.setWidget(inner)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFixedHeight(min(_MAX_LIST_PX, inner.heightForWidth(_WIDTH_PX - 60)))
    return area


def _auto_run_item(item: AutoRunFile) -> QWidget:
    return pane(
        column(label(item.path, "mono", wrap=True), label(translate(item.effect), "faint", wrap=True), gap=1)
    )
