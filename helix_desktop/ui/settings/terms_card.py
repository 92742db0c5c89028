"""What is bundled: a list to search, and the whole text of the terms that are chosen, in place."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QPlainTextEdit, QWidget

from helix_desktop.ui.settings.rows import Terms
from helix_desktop.ui.widgets import SearchField, column, label

_LIST_PX, _TEXT_PX = 190, 320  # height of the list, and of a text


class TermsCard(QWidget):
    """A search field, the list, and below it what was chosen."""

    def __init__(self) -> None:
        """Start empty, without a text."""
        super().__init__()
        self.field = SearchField("Search names and licences")
        self.list = QListWidget()
        self.list.setProperty("kind", "cards")
        self.list.setAccessibleName("What is bundled")
        self.list.setFixedHeight(_LIST_PX)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.count = label("", "faint")
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setFixedHeight(_TEXT_PX)
        self.text.hide()
        self._terms: Sequence[Terms] = ()
        self.setLayout(column(self.field, self.list, self.count, self.text, gap=6))
        self.field.textChanged.connect(lambda _: self._show_list())
        self.list.currentItemChanged.connect(lambda item, _: self._show_text(item))

    @property
    def filled(self) -> bool:
        """Whether there is a list."""
        return bool(self._terms)

    def show_terms(self, terms: Sequence[Terms]) -> None:
        """Show what is bundled."""
        self._terms = terms
        self._show_list()

    def _show_list(self) -> None:
        words = self.field.text().casefold().split()
        found = [one for one in self._terms if all(word in _sought(one) for word in words)]
        self.list.clear()
        for one in found:
            item = QListWidgetItem(f"{one.name} {one.version}".strip() + f" · {one.licence}")
            item.setData(Qt.ItemDataRole.UserRole, one)
            self.list.addItem(item)
        known = len(self._terms)
        self.count.setText(f"{len(found)} of {known}" if words else f"{known} parts")
        self._show_text(None)

    def _show_text(self, item: QListWidgetItem | None) -> None:
        chosen = item.data(Qt.ItemDataRole.UserRole) if item is not None else None
        self.text.setVisible(isinstance(chosen, Terms))
        if isinstance(chosen, Terms):
            self.text.setAccessibleName(f"The terms of {chosen.name}")
            self.text.setPlainText(chosen.text)


def _sought(one: Terms) -> str:
    return f"{one.name} {one.version} {one.licence}".casefold()
