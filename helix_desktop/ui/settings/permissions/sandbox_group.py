"""How far a workspace's agent reaches: whether commands are sandboxed, the network, web pages."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.permissions.home_folder import DEFAULT_HOME_NAMES
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import SWITCH_TEXT_X, PushButton, Switch
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import card, column, row
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Permissions")
text = TextContext("Settings: Permissions")

_LIST_PX = 180
_SWITCHES = (
    (
        "sandbox",
        text("Run commands in a sandbox"),
        text(
            "Commands can write only in the workspace, and read all its files, such as .env. Of your home "
            "folder they see only the listed toolchains and caches, and what the project is built with."
        ),
    ),
    (
        "network",
        text("Let commands use the network"),
        text("Off: the agent asks for each command that needs it."),
    ),
    (
        "fetch",
        text("Let the agent fetch web pages"),
        text("The agent asks for each host. It never contacts machines in your own network."),
    ),
)


class SandboxGroup(QWidget):
    """Three switches, and a sentence that says what holds commands back now."""

    changed = Signal(str, bool)
    """Which of `sandbox`, `network` and `fetch` is to be on or off."""

    home_names_changed = Signal(list)
    """The names of files and folders of the home folder that commands are to see."""

    def __init__(self) -> None:
        super().__init__()
        self.switches: dict[str, Switch] = {}
        self._parts: dict[str, QWidget] = {}
        self._shield = IconLabel("shield-check", px=18, color_token="ok")
        self._status = label("", "muted", wrap=True)
        sentence = row(self._shield, self._status, gap=10)
        sentence.setStretch(1, 1)
        body = column(sentence, gap=8, margins=(14, 10, 14, 10))
        for name, words, note in _SWITCHES:
            switch = Switch(translate(words))
            switch.toggled.connect(lambda on, name=name: self.changed.emit(name, on))
            self.switches[name] = switch
            below = label(translate(note), "faint", wrap=True)
            set_margins(below, SWITCH_TEXT_X, 0, 0, 0)
            part = QWidget()
            home_list = (self._home_list(),) if name == "sandbox" else ()
            part.setLayout(column(switch, below, *home_list, gap=1))
            body.addWidget(part)
            self._parts[name] = part
        self.setLayout(column(label(tr("Agent access"), "strong"), card(body), gap=8))

    def _home_list(self) -> QWidget:
        self.home_link = PushButton(tr("Home folder: what commands see…"), "link", name="home_names")
        self.home_names = TextArea()
        self.home_names.setAccessibleName(tr("Files and folders of your home folder that commands see"))
        self.home_names.setTabChangesFocus(True)
        self.home_names.setFixedHeight(_LIST_PX)
        self.home_save = PushButton(tr("Save"), name="save_home_names")
        self.home_reset = PushButton(tr("Restore defaults"), "link", name="reset_home_names")
        note = label(
            tr("One name per line, for all workspaces. Known places of keys, such as .ssh, stay hidden."),
            "faint",
            wrap=True,
        )
        buttons = row(self.home_reset, self.home_save, gap=8)
        editor = QWidget()
        editor.setLayout(column(self.home_names, note, row(None, buttons), gap=6))
        editor.hide()
        self.home_link.clicked.connect(lambda: editor.setVisible(editor.isHidden()))
        self.home_save.clicked.connect(self._save_home_names)
        self.home_reset.clicked.connect(lambda: self._show_names(DEFAULT_HOME_NAMES))
        whole = QWidget()
        whole.setLayout(column(row(self.home_link, None), editor, gap=4))
        set_margins(whole, SWITCH_TEXT_X, 0, 0, 0)
        return whole

    def show_home_names(self, names: Sequence[str]) -> None:
        """Show what commands see of the home folder, unless the user is changing it."""
        if not self.home_names.document().isModified():
            self._show_names(names)
            self.home_names.document().setModified(False)

    def _show_names(self, names: Sequence[str]) -> None:
        self.home_names.setPlainText("\n".join(sorted(names)))
        self.home_names.document().setModified(True)

    def _save_home_names(self) -> None:
        self.home_names.document().setModified(False)
        self.home_names_changed.emit(self.home_names.toPlainText().splitlines())

    @property
    def status_text(self) -> str:
        """Return what it says holds commands back."""
        return self._status.text()

    def show_sandbox(self, enabled: dict[str, bool], status: str, is_confined: bool) -> None:
        """Show which are on, and what that comes to; `is_confined`: something holds commands back."""
        for name, switch in self.switches.items():
            switch.blockSignals(True)
            switch.setChecked(enabled[name])
            switch.blockSignals(False)
            switch.update()
        self._parts["network"].setVisible(is_confined)  # without a sandbox nothing keeps commands off it
        self._status.setText(translate(status))
        self._shield.show_icon(*(("shield-check", "ok") if is_confined else ("shield-alert", "warn")))
