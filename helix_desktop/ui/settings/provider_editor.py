"""The fields of one provider, its models, and the buttons that save, test and use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QLineEdit, QSizePolicy, QWidget

from helix_desktop.config.catalogue import Catalogue, Dialect, Vendor
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.context.figures import Known, Said
from helix_desktop.context.trial import Tick
from helix_desktop.ui.field import Field
from helix_desktop.ui.settings.provider_models import ProviderModels
from helix_desktop.ui.settings.rows import CheckLine, ProviderForm, ProviderStatus, provider_faults
from helix_desktop.ui.settings.trial_view import TrialView
from helix_desktop.ui.widgets import Combo, IconButton, PushButton, column, row

DIALECTS: tuple[tuple[Dialect, str], ...] = (
    ("openai-chat", "OpenAI Chat Completions"),
    ("openai-responses", "OpenAI Responses"),
    ("anthropic", "Anthropic Messages"),
)
"""What a server may speak, in words."""

NEW = ProviderForm("", "", "")
"""A provider of which nothing is filled in."""

_DIALECT_NOTE = "Chat Completions is what most servers speak, local ones too."
_KEY_WANTED = "Only if the server asks for one"
_KEY_WOULD_GO = "in the system's keychain, or for this run only where there is none"


class ProviderEditor(QWidget):
    """The fields of one provider."""

    saved = Signal(object)
    test_requested = Signal(object)
    stop_requested = Signal()
    models_requested = Signal(object)
    remove_requested = Signal(str)
    use_requested = Signal(str)
    """The label PROVIDER/MODEL of the chosen model."""

    def __init__(self) -> None:
        """Start with a new provider."""
        super().__init__()
        self._id = ""
        self._testing = False
        self._catalogue = Catalogue()
        self.models = ProviderModels()
        self._name, self._url, self._key = QLineEdit(), QLineEdit(), QLineEdit()
        self._url.setPlaceholderText("http://127.0.0.1:11434/v1")
        self._url.editingFinished.connect(lambda: self.models.knows_by(self._knows))
        self._key.setObjectName("api_key")
        self._key.setEchoMode(QLineEdit.EchoMode.Password)
        self._eye = IconButton("eye", "Show the key")
        self._eye.setCheckable(True)
        self._eye.toggled.connect(self._show_key)
        self._dialect = Combo()
        self._dialect.setSizeAdjustPolicy(Combo.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        for dialect, words in DIALECTS:
            self._dialect.addItem(words, dialect)
        self._fields = {
            "name": Field("Name", self._name),
            "base_url": Field("Base URL", self._url),
            "dialect": Field("Speaks", self._dialect, note=_DIALECT_NOTE),
            "key": Field("API key", self._key, beside=self._eye),
        }
        self.models.listing_requested.connect(lambda: self.models_requested.emit(self.form()))
        self._trial = TrialView()
        self._test, self._save = PushButton("Test", "", "zap"), PushButton("Save", "primary")
        self._use, self._remove = PushButton("Use in workspace"), PushButton("Remove", "danger")
        self._use.setToolTip(
            "Default model for this workspace: sessions use it unless they have one of their own"
        )
        self._test.clicked.connect(self._test_or_stop)
        self._save.clicked.connect(self._try_save)
        self._use.clicked.connect(lambda: self.use_requested.emit(f"{self._id}/{self.models.chosen}"))
        self._remove.clicked.connect(lambda: self.remove_requested.emit(self._id))
        self.footer = QFrame()
        self.footer.setObjectName("settings_footer")
        self.footer.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        buttons = row(self._remove, None, self._use, self._test, self._save, margins=(28, 10, 28, 12), gap=8)
        self.footer.setLayout(column(self._trial, buttons, gap=0))
        self.setLayout(column(*self._fields.values(), 6, self.models, None, gap=8))
        self.show_provider(NEW, ProviderStatus("", False, "none", ""))

    def use_catalogue(self, catalogue: Catalogue) -> None:
        """Know what is published of models."""
        self._catalogue = catalogue
        self.models.knows_by(self._knows)

    def show_provider(self, form: ProviderForm, status: ProviderStatus) -> None:
        """Fill the fields; a key that is already kept stays where it is and is not shown."""
        self._id = form.id
        self._name.setText(form.name)
        self._url.setText(form.base_url)
        self._dialect.setCurrentIndex(self._dialect.findData(form.dialect))
        self._key.setText(form.key)
        self._key.setPlaceholderText(
            "Kept; type to replace it" if status.key_place != "none" else _KEY_WANTED
        )
        self.models.show_models(form.models, form.usual, self._knows)
        self._suggest()
        self._trial.clear()
        for field in self._fields.values():
            field.show_fault("")
        self._fields["key"].set_note(_key_note(status))
        self._use.setVisible(bool(form.id))
        self._remove.setVisible(bool(form.id))

    def want_key(self, wanted: bool) -> None:
        """Say whether the server asks for a key."""
        self._key.setPlaceholderText("Paste the key" if wanted else "None needed")

    def begin(self) -> None:
        """Give the keyboard to the first field that is empty."""
        empty = next((field for field in (self._name, self._url, self._key) if not field.text()), self._key)
        empty.setFocus(Qt.FocusReason.OtherFocusReason)

    def focus_key(self) -> None:
        """Give the keyboard to the key."""
        self._key.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_checks(self, lines: Sequence[CheckLine]) -> None:
        """Show notices above the buttons."""
        self._trial.show_lines(lines)

    def show_ticks(self, ticks: Sequence[Tick]) -> None:
        """Show how far a test is."""
        self._trial.show_ticks(ticks)

    def show_testing(self, testing: bool) -> None:
        """While a test runs, its button stops it."""
        self._testing = testing
        self._test.setText("Stop" if testing else "Test")

    def offer(self, offered: Mapping[str, Said]) -> None:
        """Take over what the server has and says, to be checked; its only model is added at once."""
        self.models.offer(offered)
        if len(offered) == 1 and not self.models.entries:
            self.models.add(next(iter(offered)))
        elif offered:
            self.models.show_checklist()

    def form(self) -> ProviderForm:
        """What is filled in now."""
        return ProviderForm(
            self._id,
            self._name.text().strip(),
            self._url.text().strip(),
            self._dialect.currentData(),
            self.models.entries,
            self.models.usual,
            self._key.text().strip(),
        )

    def faults(self) -> dict[str, str]:
        """What is marked as wrong: field name and words."""
        found = {name: field.fault() for name, field in self._fields.items()}
        return {name: words for name, words in {**found, "models": self.models.fault()}.items() if words}

    def _suggest(self) -> None:
        """Offer the names that are published for this server, until it lists its own."""
        vendor: Vendor | None = self._catalogue.at(self._url.text())
        if vendor is not None:
            names = [*vendor.begin, *(name for entry in vendor.model for name in entry.names)]
            self.models.suggest(tuple(dict.fromkeys(names)))

    def _knows(self, entry: ModelEntry) -> Known:
        provider = Provider(name="any", base_url=self._url.text().strip(), models=(entry,))
        return provider.known(entry.name, self._catalogue)

    def _test_or_stop(self) -> None:
        if self._testing:
            self.stop_requested.emit()
        else:
            self.test_requested.emit(self.form())

    def _try_save(self) -> None:
        form = self.form()
        faults = provider_faults(form)
        for name, field in self._fields.items():
            field.show_fault(faults.get(name, ""))
        self.models.show_fault(faults.get("models", ""))
        if not faults:
            self.saved.emit(form)

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
