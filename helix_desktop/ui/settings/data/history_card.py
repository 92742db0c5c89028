"""What of a workspace's files has a history: up to which size, how much it may take, and places besides."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QLineEdit, QVBoxLayout, QWidget

from helix_desktop.domain.file_history.file_coverage import FileCoverageSettings
from helix_desktop.ui.cleanup.dialog import QUOTAS
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.form_field import FormField
from helix_desktop.ui.design.labels import TextLine, label
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Data")

_MB = 1024 * 1024
_MAX_FILES = (1, 5, 20, 100, 500)  # MB


class HistoryCard(QFrame):
    """Two limits and a list of places; what is chosen comes out as a signal."""

    settings_chosen = Signal(object)  # FileCoverageSettings

    def __init__(self) -> None:
        """Start with the defaults."""
        super().__init__()
        self._settings = FileCoverageSettings()
        self.max_file, self.quota = ComboBox(), ComboBox()
        for size in _MAX_FILES:
            self.max_file.addItem(tr("{number} MB", number=size), size * _MB)
        for words, size in QUOTAS:
            self.quota.addItem(translate(words), size)
        self.place = QLineEdit()
        self.place.setPlaceholderText("build/output")
        add = PushButton(tr("Add"), name="include_place")
        self._field = FormField(
            tr("Also include"),
            self.place,
            trailing=add,
            note=tr("A file or folder in the workspace that git ignores, or that contains secrets."),
        )
        self._places = QVBoxLayout()
        self._places.setSpacing(4)
        self.setLayout(
            column(
                card(
                    column(
                        label(tr("File history"), "strong"),
                        FormField(
                            tr("Largest file"),
                            self.max_file,
                            note=tr("Changes to larger files can't be undone."),
                        ),
                        FormField(
                            tr("Maximum size"),
                            self.quota,
                            note=tr("When it is reached, the oldest versions are removed first."),
                        ),
                        self._field,
                        self._places,
                        margins=(16, 12, 16, 13),
                        gap=9,
                    )
                )
            )
        )
        self.max_file.activated.connect(lambda _: self._choose(max_file=self.max_file.currentData()))
        self.quota.activated.connect(lambda _: self._choose(quota=self.quota.currentData()))
        self.place.returnPressed.connect(self._add)
        self.place.textChanged.connect(lambda _: self._field.show_error(""))
        add.clicked.connect(self._add)

    def show_settings(self, settings: FileCoverageSettings) -> None:
        """Show what holds now."""
        self._settings = settings
        self.place.clear()
        for combo, size in ((self.max_file, settings.max_file), (self.quota, settings.quota)):
            if combo.findData(size) < 0:  # chosen in the file
                combo.addItem(format_size(size), size)
            combo.setCurrentIndex(combo.findData(size))
        clear_layout(self._places)
        for place in settings.included:
            self._places.addWidget(self._line(place))

    def show_error(self, message: str) -> None:
        """Say why a place can't be added."""
        self._field.show_error(message)

    def _line(self, place: str) -> QWidget:
        remove = PushButton(tr("Remove"), "link", name=f"exclude:{place}")
        remove.setAccessibleName(tr("Remove {place}", place=place))
        others = tuple(other for other in self._settings.included if other != place)
        remove.clicked.connect(lambda: self._choose(included=others))
        line = QWidget()
        parts = row(TextLine(place, 13), remove, gap=6)
        parts.setStretch(0, 1)
        line.setLayout(parts)
        return line

    def _add(self) -> None:
        self._choose(included=tuple(dict.fromkeys((*self._settings.included, self.place.text()))))

    def _choose(self, **fields: object) -> None:
        self.settings_chosen.emit(msgspec.structs.replace(self._settings, **fields))
