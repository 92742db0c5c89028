"""The list of what a server offers: models are checked there and added together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QHeaderView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from helix_desktop.domain.model_spec import ResolvedModelSpec
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import CheckBoxDelegate, SearchField
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import card, column, row
from helix_desktop.ui.settings.providers.model_rows import ModelRow, cell_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
text = TextContext("Settings: Models")

_COLUMNS = (text("Model"), text("Context"), text("$ in / out"))
_CELLS = (0, 1, 3)  # of a row of the table of models
_WIDTHS = (0, 96, 110)  # pixels; the name takes the rest
_ROW_PX, _MAX_ROWS, _HEAD_PX = 30, 8, 32
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_CHECKED, _UNCHECKED = Qt.CheckState.Checked, Qt.CheckState.Unchecked


class ModelChecklist(QWidget):
    def __init__(self, add_models: Callable[[list[str]], object]) -> None:
        """`add_models` gets the names of the checked models, in the order of the list."""
        super().__init__()
        self.filter = SearchField(tr("Filter models"))
        self.filter.textChanged.connect(self._filter)
        self.list = QTreeWidget()
        self.list.setObjectName("offered_models")
        self.list.setAccessibleName(tr("Offered models"))
        self.list.setProperty("kind", "checklist")
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setAllColumnsShowFocus(True)
        self.list.setHeaderLabels([translate(title) for title in _COLUMNS])
        self._checkbox_delegate = CheckBoxDelegate(self.list)
        self.list.setItemDelegate(self._checkbox_delegate)
        for place in range(1, len(_COLUMNS)):
            self.list.headerItem().setTextAlignment(place, _RIGHT)
        self.list.itemChanged.connect(lambda *_: self._update_buttons())
        self.list.itemActivated.connect(_toggle)
        head = self.list.header()
        head.setStretchLastSection(False)
        head.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for place, width in enumerate(_WIDTHS[1:], 1):
            head.setSectionResizeMode(place, QHeaderView.ResizeMode.Fixed)
            self.list.setColumnWidth(place, max(width, head.sectionSizeHint(place)))
        self._no_match = label(tr("No matching models"), "muted")
        self.add = PushButton("", "primary", on_click=lambda: add_models(self.checked()))
        self._all = PushButton("", "link", name="check_all", on_click=self._check_all)
        self._close = PushButton(tr("Cancel"), name="cancel", on_click=self.hide)
        self.add.setObjectName("add_checked_models")
        buttons = row(self._all, None, self._close, self.add, gap=8)
        body = column(self.filter, self.list, self._no_match, buttons, margins=(12, 12, 12, 12), gap=8)
        self.setLayout(column(card(body)))
        self.hide()

    def show_models(
        self, names: Sequence[str], spec_lookup: Callable[[str], ResolvedModelSpec], existing: Collection[str]
    ) -> None:
        """Show what is offered; models that are `existing` already are checked and cannot be changed."""
        self.list.blockSignals(True)
        self.list.clear()
        for name in names:
            self.list.addTopLevelItem(_item(name, spec_lookup(name), name in existing))
        self.list.blockSignals(False)
        rows = max(1, min(_MAX_ROWS, len(names)))
        self.list.setFixedHeight(_HEAD_PX + rows * _ROW_PX + 2 * self.list.frameWidth())
        self.filter.clear()
        self._filter("")
        self.show()
        self.filter.setFocus(Qt.FocusReason.OtherFocusReason)

    def checked(self) -> list[str]:
        """List the models that are checked and not present yet, also those that the filter hides."""
        return [item.text(0) for item in self._items() if _is_new(item) and item.checkState(0) == _CHECKED]

    def _items(self) -> list[QTreeWidgetItem]:
        items = (self.list.topLevelItem(place) for place in range(self.list.topLevelItemCount()))
        return [item for item in items if item is not None]

    def _filter(self, query: str) -> None:
        words = query.casefold().split()
        for item in self._items():
            item.setHidden(not all(word in item.text(0).casefold() for word in words))
        self._update_buttons()

    def _visible_items(self) -> list[QTreeWidgetItem]:
        return [item for item in self._items() if not item.isHidden()]

    def _check_all(self) -> None:
        """Check every model that the filter shows; where all are, uncheck them."""
        new_items = [item for item in self._visible_items() if _is_new(item)]
        state = _UNCHECKED if all(item.checkState(0) == _CHECKED for item in new_items) else _CHECKED
        for item in new_items:
            item.setCheckState(0, state)

    def _update_buttons(self) -> None:
        count, visible = len(self.checked()), self._visible_items()
        new = [item for item in visible if _is_new(item)]
        every = bool(new) and all(item.checkState(0) == _CHECKED for item in new)
        self.add.setText(tr.plural(count, "Add %n model", "Add %n models") if count else tr("Add models"))
        self.add.setEnabled(bool(count))
        self._all.setText(tr("Clear selection") if every else tr("Select all"))
        self._all.setEnabled(bool(new))
        self.list.setVisible(bool(visible))
        self._no_match.setVisible(not visible)


def _item(name: str, spec: ResolvedModelSpec, exists: bool) -> QTreeWidgetItem:
    model_row = ModelRow(name, False, spec)
    item = QTreeWidgetItem([cell_text(model_row, place) for place in _CELLS])
    for place, placeholder in enumerate(_placeholders(spec), 1):
        if placeholder is not None:
            item.setText(place, placeholder)
        item.setTextAlignment(place, _RIGHT)
    item.setToolTip(0, name)
    item.setCheckState(0, _CHECKED if exists else _UNCHECKED)
    if exists:
        item.setText(0, name)
        item.setToolTip(0, tr("{name} is already in the list", name=name))
        item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
    return item


def _placeholders(spec: ResolvedModelSpec) -> tuple[str | None, str | None]:
    """Return a dash for window and price where nobody says them."""
    window = "—" if spec.values["window"].origin == "assumed" else None
    has_price = spec.is_free or spec.number("price_in") or spec.number("price_out")
    price = None if has_price else "—"
    return window, price


def _is_new(item: QTreeWidgetItem) -> bool:
    return bool(item.flags() & Qt.ItemFlag.ItemIsEnabled)


def _toggle(item: QTreeWidgetItem) -> None:
    if _is_new(item):
        item.setCheckState(0, _UNCHECKED if item.checkState(0) == _CHECKED else _CHECKED)
