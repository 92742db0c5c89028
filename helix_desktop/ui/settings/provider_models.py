"""A provider's models: the table, the figures of the chosen one, and how another one is added."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QCompleter, QScrollArea, QWidget

from helix_desktop.config.settings import ModelEntry
from helix_desktop.context.figures import Known, Said, known
from helix_desktop.ui.settings.model_checklist import ModelChecklist
from helix_desktop.ui.settings.model_figures import ModelFigures
from helix_desktop.ui.settings.model_rows import ModelRow
from helix_desktop.ui.settings.model_table import ModelTable
from helix_desktop.ui.widgets import Combo, PushButton, card, column, label, row

Knows = Callable[[ModelEntry], Known]
_NONE = "No model yet. List those that the server has, or write a name."


class ProviderModels(QWidget):
    """Emits nothing while it is filled; `changed` when a person changed something."""

    changed = Signal()
    listing_requested = Signal()

    def __init__(self) -> None:
        """Start without models."""
        super().__init__()
        self._entries: dict[str, ModelEntry] = {}
        self._usual = ""
        self._offered: dict[str, Said] = {}
        self._knows: Knows = lambda _: known()
        self.table, self.figures = ModelTable(), ModelFigures()
        self._none, self._fault = label(_NONE, "muted", wrap=True), label("", "error", wrap=True)
        self.name = Combo()
        self.name.setEditable(True)
        self.name.setInsertPolicy(Combo.InsertPolicy.NoInsert)
        self.name.setAccessibleName("Name of a model to add")
        self.name.setSizeAdjustPolicy(Combo.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        edit = self.name.lineEdit()
        assert edit is not None  # an editable combo box has one
        edit.setPlaceholderText("Name of another model")
        edit.setAccessibleName("Name of a model to add")
        edit.returnPressed.connect(self._add)
        completer = self.name.completer()
        assert completer is not None  # as an editable one does
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self._plus, self._list = PushButton("Add", "", "plus"), PushButton("List models", "", "list")
        adding = row(self.name, self._plus, self._list, gap=6)
        adding.setStretch(0, 1)
        self.checklist = ModelChecklist()
        self._framed = card(column(self.table, margins=(5, 3, 5, 5)))
        self.setLayout(
            column(
                *(label("Models", "strong"), self._none, self._framed, self._fault, adding),
                *(self.checklist, self.figures),
                gap=6,
            )
        )
        self._plus.clicked.connect(self._add)
        self._list.clicked.connect(self.listing_requested)
        self.checklist.added.connect(self._add_checked)
        self.table.chosen.connect(lambda _: self._show_figures())
        self.table.usual_wanted.connect(self._make_usual)
        self.figures.usual_wanted.connect(self._make_usual)
        self.figures.changed.connect(self._change)
        self.figures.removed.connect(self._remove)
        self._show()

    @property
    def entries(self) -> tuple[ModelEntry, ...]:
        """The models as they are now."""
        return tuple(self._entries.values())

    @property
    def usual(self) -> str:
        """The model that answers when none is named; empty when there are none."""
        return self._usual if self._usual in self._entries else next(iter(self._entries), "")

    @property
    def chosen(self) -> str:
        """The model whose figures are shown."""
        return self.table.current()

    def show_models(self, entries: Sequence[ModelEntry], usual: str, knows: Knows) -> None:
        """Show these models; `knows` says what is known of one."""
        self._entries = {entry.name: entry for entry in entries}
        self._usual, self._knows, self._offered = usual, knows, {}
        self.checklist.hide()
        self.show_fault("")
        self.suggest(())
        self._show()
        self.table.choose(self.usual)

    def knows_by(self, knows: Knows) -> None:
        """Look the figures up anew: the address has changed."""
        self._knows = knows
        self._show()

    def suggest(self, names: Sequence[str]) -> None:
        """Offer names to be added; what was typed stays."""
        typed = self.name.currentText()
        self.name.clear()
        self.name.addItems([name for name in names if name not in self._entries])
        self.name.setEditText(typed)

    def offer(self, offered: Mapping[str, Said]) -> None:
        """Offer what the server has, and take over what it says of the models that are here."""
        self._offered = dict(offered)
        self._entries = {name: self._told(entry) for name, entry in self._entries.items()}
        self.suggest(tuple(offered))
        self._show()

    def show_checklist(self) -> None:
        """Let the user check which of the offered models to add."""
        self.checklist.show_models(
            tuple(self._offered),
            lambda name: self._knows(self._told(ModelEntry(name=name))),
            self._entries.keys(),
        )
        QTimer.singleShot(0, self, self._reveal_checklist)  # once the page has grown by it

    def _reveal_checklist(self) -> None:
        around = self.parentWidget()
        while around is not None and not isinstance(around, QScrollArea):
            around = around.parentWidget()
        if isinstance(around, QScrollArea):
            around.ensureWidgetVisible(self.checklist, 0, 16)

    def _add_checked(self, names: list[str]) -> None:
        self.checklist.hide()
        for name in names:
            self._entries.setdefault(name, self._told(ModelEntry(name=name)))
        self.suggest(tuple(self._offered))
        self.show_fault("")
        self._show()
        self.table.choose(names[0])
        self.changed.emit()

    def show_fault(self, fault: str) -> None:
        """Say what is wrong with the models; an empty text takes it away."""
        self._fault.setText(fault)
        self._fault.setVisible(bool(fault))

    def fault(self) -> str:
        """What is said to be wrong."""
        return self._fault.text()

    def add(self, name: str) -> None:
        """Add a model, or choose it when it is here."""
        if name and name not in self._entries:
            self._entries[name] = self._told(ModelEntry(name=name))
            self.suggest(tuple(self._offered))
            self.name.setEditText("")
            self.show_fault("")
            self._show()
            self.changed.emit()
        self.table.choose(name)

    def _told(self, entry: ModelEntry) -> ModelEntry:
        said = self._offered.get(entry.name)
        if said is None:
            return entry
        return msgspec.structs.replace(entry, told=said.figures, told_by=said.source)

    def _add(self) -> None:
        self.add(self.name.currentText().strip())

    def _show(self) -> None:
        self.table.show_rows(
            [ModelRow(entry.name, entry.name == self.usual, self._knows(entry)) for entry in self.entries]
        )
        for part in (self._framed, self.figures):
            part.setVisible(bool(self._entries))
        self._none.setVisible(not self._entries)

    def _show_figures(self) -> None:
        entry = self._entries.get(self.table.current())
        if entry is not None:
            bare = ModelEntry(name=entry.name, told=entry.told, told_by=entry.told_by)
            self.figures.show_model(entry, self._knows(entry), self._knows(bare), entry.name == self.usual)

    def _change(self, entry: ModelEntry) -> None:
        self._entries[entry.name] = entry
        self._show()
        self.changed.emit()

    def _make_usual(self, name: str) -> None:
        if name in self._entries and name != self.usual:
            self._usual = name
            self._show()
            self.changed.emit()

    def _remove(self, name: str) -> None:
        self._entries.pop(name, None)
        self.suggest(tuple(self._offered))
        self._show()
        self.changed.emit()
