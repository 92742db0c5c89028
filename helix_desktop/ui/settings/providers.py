"""The provider page: which models there are, how they are reached, and whether they answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QIntValidator
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from helix_desktop.ui.field import Field
from helix_desktop.ui.icons import icon
from helix_desktop.ui.settings.form import page
from helix_desktop.ui.settings.rows import (
    PRESETS,
    CheckLine,
    Preset,
    ProviderForm,
    ProviderStatus,
    provider_faults,
)
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import (
    Badge,
    Combo,
    IconButton,
    IconLabel,
    PushButton,
    Switch,
    column,
    empty_layout,
    label,
    row,
)

_NEW = ProviderForm("", "", "", "", 128_000, 8_000)
_FACES = {
    "running": ("loader-circle", "muted"),
    "ok": ("circle-check", "ok"),
    "failed": ("circle-x", "error"),
}
_KEY_WANTED = "Only if the server asks for one"
_KEY_WOULD_GO = "in the system's keychain, or for this run only where there is none"
_LINE_PX, _LINES = 32, 4
_ID = int(Qt.ItemDataRole.UserRole)


class _Number(QLineEdit):
    """A field for a count of tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.setValidator(QIntValidator(0, 100_000_000, self))
        self.setMaximumWidth(140)

    def value(self) -> int:
        text = self.text().strip()
        return int(text) if text.isdigit() else 0


class _CheckList(QWidget):
    """The lines of a test, each with a tick or a cross."""

    def __init__(self) -> None:
        super().__init__()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(146, 2, 0, 0)
        self._column.setSpacing(6)
        self._theme = LIGHT

    def show_lines(self, lines: Sequence[CheckLine]) -> None:
        empty_layout(self._column)
        for line in lines:
            face = IconLabel(_FACES[line.state][0], px=15, ink=_FACES[line.state][1])
            face.tint(self._theme)
            words = label(line.detail, "error" if line.state == "failed" else "faint", wrap=True)
            shown = QWidget()
            parts = row(face, label(line.name), words, gap=8)
            parts.setStretch(2, 1)
            shown.setLayout(parts)
            shown.setAccessibleName(f"{line.name}: {line.state}. {line.detail}")
            self._column.addWidget(shown)
        self.setVisible(bool(lines))

    def tint(self, theme: Theme) -> None:
        self._theme = theme


class ProviderEditor(QWidget):
    """The fields of one provider."""

    saved = Signal(object)
    test_requested = Signal(object)
    models_requested = Signal(object)
    remove_requested = Signal(str)
    use_requested = Signal(str)

    def __init__(self) -> None:
        """Start with a new provider."""
        super().__init__()
        self._id = ""
        self._name, self._url, self._key = QLineEdit(), QLineEdit(), QLineEdit()
        self._url.setPlaceholderText("http://localhost:11434/v1")
        self._key.setEchoMode(QLineEdit.EchoMode.Password)
        self._eye = IconButton("eye", "Show the key")
        self._eye.setCheckable(True)
        self._eye.toggled.connect(self._show_key)
        self._presets = PushButton("Presets…")
        self._presets.setMenu(self._preset_menu())
        self._model = Combo()
        self._model.setEditable(True)
        self._model.setInsertPolicy(Combo.InsertPolicy.NoInsert)
        self._list = PushButton("List models")
        self._window, self._reserve = _Number(), _Number()
        self._images = Switch("The model can see images")
        self._checks = _CheckList()
        self._test, self._save = PushButton("Test", "", "zap"), PushButton("Save", "primary")
        self._use, self._remove = PushButton("Use in this workspace"), PushButton("Remove", "danger")
        self._fields = {
            "name": Field("Name", self._name),
            "base_url": Field("Base URL", self._url, beside=self._presets),
            "key": Field("API key", self._key, beside=self._eye),
            "model": Field("Model", self._model, beside=self._list),
            "window": Field("Window", self._window, beside=label("tokens that it can read at once", "faint")),
            "reserve": Field(
                "Answer reserve", self._reserve, beside=label("tokens kept for its answer", "faint")
            ),
            "images": Field("Images", self._images),
        }
        self._test.clicked.connect(lambda: self.test_requested.emit(self.form()))
        self._list.clicked.connect(lambda: self.models_requested.emit(self.form()))
        self._save.clicked.connect(self._try_save)
        self._use.clicked.connect(lambda: self.use_requested.emit(self._id))
        self._remove.clicked.connect(lambda: self.remove_requested.emit(self._id))
        self.footer = QFrame()
        self.footer.setObjectName("settings_footer")
        buttons = row(self._remove, None, self._use, self._test, self._save, margins=(28, 12, 28, 12), gap=8)
        self.footer.setLayout(buttons)
        self.setLayout(column(*self._fields.values(), 2, self._checks, None, gap=8))
        self.show_provider(_NEW, ProviderStatus("", False, "none", ""))

    def show_provider(self, form: ProviderForm, status: ProviderStatus) -> None:
        """Fill the fields; a key that is already kept stays where it is and is not shown."""
        self._id = form.id
        self._name.setText(form.name)
        self._url.setText(form.base_url)
        self._key.setText(form.key)
        self._key.setPlaceholderText(
            "Kept; type to replace it" if status.key_place != "none" else _KEY_WANTED
        )
        self._model.clear()
        self._model.setEditText(form.model)
        self._window.setText(str(form.window))
        self._reserve.setText(str(form.reserve))
        self._images.setChecked(form.images)
        self._checks.show_lines(())
        for field in self._fields.values():
            field.show_fault("")
        self._fields["key"].set_note(_key_note(status))
        self._use.setVisible(bool(form.id) and not status.in_use)
        self._remove.setVisible(bool(form.id))

    def begin(self) -> None:
        """Give the keyboard to the first field."""
        self._name.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_checks(self, lines: Sequence[CheckLine]) -> None:
        """Show how far a test is."""
        self._checks.show_lines(lines)
        running = any(line.state == "running" for line in lines)
        self._test.setEnabled(not running)

    def show_models(self, names: Sequence[str]) -> None:
        """Offer the models that the server has; what was typed stays."""
        typed = self._model.currentText()
        self._model.clear()
        self._model.addItems(list(names))
        self._model.setEditText(typed or (names[0] if names else ""))

    def form(self) -> ProviderForm:
        """What is filled in now."""
        return ProviderForm(
            self._id, self._name.text().strip(), self._url.text().strip(), self._model.currentText().strip(),
            self._window.value(), self._reserve.value(), self._key.text().strip(),
            images=self._images.isChecked(),
        )  # fmt: skip

    def faults(self) -> dict[str, str]:
        """What is marked as wrong: field name and words."""
        return {name: field.fault() for name, field in self._fields.items() if field.fault()}

    def _try_save(self) -> None:
        form = self.form()
        faults = provider_faults(form)
        for name, field in self._fields.items():
            field.show_fault(faults.get(name, ""))
        if not faults:
            self.saved.emit(form)

    def _preset_menu(self) -> QMenu:
        menu = QMenu(self)
        for preset in PRESETS:
            action = QAction(f"{preset.name}\t{preset.base_url}", menu)
            action.triggered.connect(lambda _=False, chosen=preset: self._take(chosen))
            menu.addAction(action)
        return menu

    def _take(self, preset: Preset) -> None:
        self._url.setText(preset.base_url)
        if not self._name.text().strip():
            self._name.setText(preset.name)
        self._key.setPlaceholderText("Paste the key" if preset.needs_key else "None needed")

    def _show_key(self, shown: bool) -> None:
        self._key.setEchoMode(QLineEdit.EchoMode.Normal if shown else QLineEdit.EchoMode.Password)
        self._eye.set_icon("eye-off" if shown else "eye")
        self._eye.set_tip("Hide the key" if shown else "Show the key")


def _key_note(status: ProviderStatus) -> str:
    return {
        "keychain": f"Kept in the {status.key_text}.",
        "environment": f"Taken from the {status.key_text}.",
        "run": f"Kept for {status.key_text}.",
        "none": f"Will be kept {status.key_text or _KEY_WOULD_GO}.",
    }[status.key_place]


class ProvidersPage(QWidget):
    """The list of providers with the demo model first, and the fields of the chosen one."""

    provider_chosen = Signal(str)

    def __init__(self) -> None:
        """Start with an empty list."""
        super().__init__()
        self._forms: dict[str, ProviderForm] = {}
        self._states: dict[str, ProviderStatus] = {}
        self._theme = LIGHT
        self.list = QListWidget()
        self.list.setProperty("kind", "cards")
        self.list.setAccessibleName("Providers")
        self.list.setIconSize(QSize(16, 16))
        self.list.currentItemChanged.connect(lambda now, _: self._choose(now))
        self.editor = ProviderEditor()
        self._add = PushButton("Add provider", "", "plus")
        self._add.clicked.connect(self.add)
        self._demo_use = PushButton("Use in this workspace")
        self._demo_use.clicked.connect(lambda: self.editor.use_requested.emit(self._chosen_id()))
        self._stack = QStackedWidget()
        self._stack.addWidget(self.editor)
        self._stack.addWidget(self._demo_page())
        whole, _ = page(
            "Model providers",
            "Any server that speaks Chat Completions. A key is sent to its own server and nowhere else.",
            column(self.list, row(self._add, None), 8, self._stack, gap=8),
        )
        self.setLayout(column(whole, self.editor.footer, gap=0))
        self._demo_use.hide()
        self._show_editor(False)

    def _demo_page(self) -> QWidget:
        words = label(
            "A script that ships with the app and works on the sample project with the real tools. "
            "It needs no key and opens no connection. It cannot answer questions: choose a model for that.",
            "muted",
            wrap=True,
        )
        demo = QWidget()
        demo.setLayout(
            column(row(Badge("Offline demo model"), None), words, row(self._demo_use, None), None, gap=10)
        )
        return demo

    def show_providers(self, forms: Sequence[ProviderForm], states: Sequence[ProviderStatus]) -> None:
        """Show these providers; the chosen one stays chosen."""
        chosen = self._chosen_id()
        self._forms = {form.id: form for form in forms}
        self._states = {state.id: state for state in states}
        self.list.blockSignals(True)
        self.list.clear()
        for form in forms:
            state = self._states.get(form.id)
            in_use = "in use here" if state is not None and state.in_use else ""
            words = (form.name, "" if form.demo else form.model, in_use)
            item = QListWidgetItem(" · ".join(word for word in words if word))
            item.setData(_ID, form.id)
            self.list.addItem(item)
        self.list.blockSignals(False)
        self._paint_icons()
        line = max(_LINE_PX, self.list.sizeHintForRow(0))
        self.list.setFixedHeight(min(_LINES, max(1, len(forms))) * line + 12)
        places = [place for place, form in enumerate(forms) if form.id == chosen]
        self.list.setCurrentRow(places[0] if places else 0)

    def add(self) -> None:
        """Begin a new provider."""
        self.list.clearSelection()
        self.list.setCurrentRow(-1)
        self._show_editor(True)
        self.editor.show_provider(_NEW, ProviderStatus("", False, "none", self._new_key_place()))
        self.editor.begin()

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self._paint_icons()

    def _paint_icons(self) -> None:
        for place in range(self.list.count()):
            item = self.list.item(place)
            demo = self._forms[item.data(_ID)].demo
            item.setIcon(icon("play" if demo else "server", self._theme.muted, 16))

    def _new_key_place(self) -> str:
        """Where the others' keys are or would be; empty when nothing is known of it."""
        states = self._states.values()
        kept = (f"in the {state.key_text}" for state in states if state.key_place == "keychain")
        would = (state.key_text for state in states if state.key_place == "none" and state.key_text)
        return next(chain(kept, would), "")

    def _chosen_id(self) -> str:
        item = self.list.currentItem()
        return str(item.data(_ID)) if item is not None else ""

    def _show_editor(self, shown: bool) -> None:
        self._stack.setCurrentIndex(0 if shown else 1)
        self.editor.footer.setVisible(shown)

    def _choose(self, item: QListWidgetItem | None) -> None:
        if item is None:
            return
        form = self._forms[item.data(_ID)]
        state = self._states.get(form.id, ProviderStatus(form.id, False, "none", ""))
        self._show_editor(not form.demo)
        self._demo_use.setVisible(form.demo and not state.in_use)
        if not form.demo:
            self.editor.show_provider(replace(form, key=""), state)
        self.provider_chosen.emit(form.id)
