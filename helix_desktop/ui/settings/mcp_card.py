"""One MCP server as a card: how it is doing and why, its tools, its log, its fields."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from helix_desktop.context.mcp_report import ServerReport
from helix_desktop.ui.settings.mcp_form import Editing
from helix_desktop.ui.settings.mcp_tools import LogView, ToolList
from helix_desktop.ui.settings.mcp_words import INKS, consent_text, cost_text, counted, state_text
from helix_desktop.ui.theme import Theme
from helix_desktop.ui.widgets import Dot, ElidedLabel, PushButton, Switch, card, column, label, row

_SWITCH_PX = 40
_LINK_PX = 12  # a link's own margin, by which a row of them is moved out


class Disclosing(PushButton):
    """A link that opens and closes a part, and shows which."""

    def __init__(self, text: str, part: QWidget) -> None:
        super().__init__(text, "link", "chevron-right", px=13)
        self.setCheckable(True)
        part.hide()
        self.toggled.connect(part.setVisible)
        self.toggled.connect(self._turn)

    def _turn(self, on: bool) -> None:
        self._icon_name = "chevron-down" if on else "chevron-right"
        self.tint(self._theme)

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        super().tint(theme)


class ServerCard(QFrame):
    """A server. What is open in it stays open while its report changes."""

    agreed = Signal(str, str)
    """Name, and the fingerprint that was shown."""
    switched = Signal(str, bool)
    tools_switched = Signal(str, list)
    restart_requested = Signal(str)
    remove_requested = Signal(str)
    saved = Signal(str, object)
    test_requested = Signal(str, object)

    def __init__(self, name: str) -> None:
        """Start without a report."""
        super().__init__()
        self.name = name
        self.setProperty("role", "card")
        self.setAccessibleName(f"MCP server {name}")
        self._report: ServerReport | None = None
        self._dot, self._state = Dot("faint", px=8), ElidedLabel("", "note")
        self._cost, self._reach = label("", "faint"), ElidedLabel("", "mono")
        self._on = Switch("")
        self._on.setAccessibleName(f"{name} is on")
        self._on.setFixedWidth(_SWITCH_PX)
        self._on.toggled.connect(lambda on: self.switched.emit(name, on))
        self._why = label("", "error", wrap=True)
        self._consent_words, self._exactly = label("", "note", wrap=True), label("", "mono", wrap=True)
        self._consent = self._consent_box()
        self.tools, self.log, self.editing = ToolList(), LogView(), Editing("Save and start")
        self._toggles = {
            "tools": self._toggle("Tools", self.tools),
            "log": self._toggle("Log", self.log),
            "edit": self._toggle("Edit", self.editing),
        }
        self._restart, remove = PushButton("Restart", "link"), PushButton("Remove", "link")
        self._restart.clicked.connect(lambda: self.restart_requested.emit(name))
        remove.clicked.connect(lambda: self.remove_requested.emit(name))
        self._connect()
        head = row(self._dot, label(name, "strong"), self._state, self._on, gap=9)
        head.setStretch(2, 1)
        links = row(*self._toggles.values(), self._restart, remove, None, margins=(-_LINK_PX, 0, 0, 0), gap=2)
        self.setLayout(
            column(
                head, self._reach, self._cost, self._why, self._consent, links, self.tools, self.log,
                self.editing, margins=(16, 12, 12, 10), gap=7,
            )
        )  # fmt: skip

    def _connect(self) -> None:
        name = self.name
        self.tools.switched.connect(lambda off: self.tools_switched.emit(name, off))
        self.editing.saved.connect(lambda draft: self.saved.emit(name, draft))
        self.editing.test_requested.connect(lambda draft: self.test_requested.emit(name, draft))
        self.editing.cancelled.connect(lambda: self._toggles["edit"].setChecked(False))

    def _consent_box(self) -> QFrame:
        allow = PushButton("Let it start")
        allow.clicked.connect(self._agree)
        words = label("This is not what you agreed to, or it was never agreed to.", "warn", wrap=True)
        box = card(
            column(words, self._consent_words, self._exactly, row(allow, None), margins=(12, 9, 12, 10)),
            "well",
        )
        box.hide()
        return box

    def _agree(self) -> None:
        if self._report is not None:
            self.agreed.emit(self.name, self._report.entry.fingerprint)

    def _toggle(self, text: str, part: QWidget) -> Disclosing:
        button = Disclosing(text, part)
        button.setAccessibleName(f"{text} of {self.name}")
        if part is self.editing:
            button.toggled.connect(lambda on: self._begin() if on else None)
        return button

    def _begin(self) -> None:
        if self._report is not None:
            self.editing.begin(self._report.entry, {}, self._report.missing)

    def show_report(self, report: ServerReport, folder: str, taken: tuple[str, ...]) -> None:
        """Show how the server is doing; `taken` are the other servers' names."""
        self._report, self.editing.taken = report, taken
        self._dot.set_ink(INKS[report.state])
        named = report.server if report.state == "ready" else ""
        self._state.set_whole(" · ".join(part for part in (state_text(report), named) if part))
        self._cost.setText(cost_text(report))
        self._cost.setVisible(bool(self._cost.text()))
        self._reach.set_whole(report.entry.line)
        self._on.blockSignals(True)
        self._on.setChecked(report.entry.enabled)
        self._on.blockSignals(False)
        self._on.update()
        failed = report.state in ("failed", "waiting") and report.why
        self._why.setText(report.why if failed else "")
        self._why.setVisible(bool(failed))
        self._consent.setVisible(report.state == "unapproved")
        sentence, exactly = consent_text(report.entry, folder)
        self._consent_words.setText(sentence)
        self._exactly.setText(exactly)
        self.tools.show_tools(report.tools)
        self.log.show_log(report.log)
        self._toggles["tools"].setText(counted(len(report.tools), "tool") if report.tools else "Tools")
        self._toggles["tools"].setVisible(bool(report.tools))
        self._restart.setVisible(report.state in ("ready", "failed", "starting"))
        self._restart.setText("Start now" if report.state == "failed" else "Restart")

    def is_open(self, part: str) -> bool:
        """Whether its tools, log or fields are open."""
        return self._toggles[part].isChecked()

    def open(self, part: str, on: bool = True) -> None:
        """Open its tools, log or fields, or close them."""
        self._toggles[part].setChecked(on)
