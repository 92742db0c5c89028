"""What is bundled: a list to search, and the whole text of the terms that are chosen, in place."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QPlainTextEdit, QWidget

from helix_desktop.ui.design.fields import SearchField
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.settings.forms import License
from helix_desktop.words.translation import Translator

tr = Translator("About")
_LIST_PX, _TEXT_PX = 190, 320  # height of the list, and of a text


class LicensesCard(QWidget):
    """A search field, the list, and below it what was chosen."""

    def __init__(self) -> None:
        """Start empty, without a text."""
        super().__init__()
        self.field = SearchField(tr("Search names and licenses"))
        self.list = QListWidget()
        self.list.setProperty("kind", "cards")
        self.list.setAccessibleName(tr("Bundled components"))
        self.list.setFixedHeight(_LIST_PX)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.count = label("", "faint")
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setFixedHeight(_TEXT_PX)
        self.text.hide()
        self._licenses: Sequence[License] = ()
        self.setLayout(column(self.field, self.list, self.count, self.text, gap=6))
        self.field.textChanged.connect(lambda _: self._show_list())
        self.list.itemSelectionChanged.connect(self._show_selected)  # the keyboard alone selects none
        self.list.itemActivated.connect(lambda item: item.setSelected(True))

    @property
    def is_filled(self) -> bool:
        """Return True if there is a list."""
        return bool(self._licenses)

    def show_licenses(self, licenses: Sequence[License]) -> None:
        """Show what is bundled."""
        self._licenses = licenses
        self._show_list()

    def _show_list(self) -> None:
        words = self.field.text().casefold().split()
        matches = [entry for entry in self._licenses if all(word in _search_text(entry) for word in words)]
        self.list.clear()
        for entry in matches:
            item = QListWidgetItem(f"{entry.name} {entry.version}".strip() + f" · {entry.license_name}")
            item.setData(Qt.ItemDataRole.UserRole, entry)
            self.list.addItem(item)
        total = len(self._licenses)
        self.count.setText(
            tr("{shown} of {total}", shown=len(matches), total=total)
            if words
            else tr.plural(total, "%n component", "%n components")
        )
        self._show_text(None)

    def _show_selected(self) -> None:
        self._show_text(next(iter(self.list.selectedItems()), None))

    def _show_text(self, item: QListWidgetItem | None) -> None:
        selected = item.data(Qt.ItemDataRole.UserRole) if item is not None else None
        self.text.setVisible(isinstance(selected, License))
        if isinstance(selected, License):
            self.text.setAccessibleName(tr("License of {name}", name=selected.name))
            self.text.setPlainText(selected.text)


def _search_text(entry: License) -> str:
    return f"{entry.name} {entry.version} {entry.license_name}".casefold()
