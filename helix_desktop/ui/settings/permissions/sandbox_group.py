"""How far a workspace's agent reaches: whether commands are sandboxed, the network, web pages."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import SWITCH_TEXT_X, Switch
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import card, column, row
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Permissions")
text = TextContext("Settings: Permissions")

_SWITCHES = (
    (
        "sandbox",
        text("Run commands in a sandbox"),
        text(
            "Commands can write only in the workspace, and can't read the keys and passwords in your home "
            "folder. They can read all files of the workspace, such as .env."
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
            part.setLayout(column(switch, below, gap=1))
            body.addWidget(part)
            self._parts[name] = part
        self.setLayout(column(label(tr("Agent access"), "strong"), card(body), gap=8))

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
