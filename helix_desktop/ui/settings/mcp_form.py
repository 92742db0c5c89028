"""The fields of one MCP server: how it is reached, what it is given, its secrets."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from helix_desktop.context.errors import InputUnusable
from helix_desktop.context.mcp_pasted import Draft
from helix_desktop.context.mcp_report import ServerReport
from helix_desktop.context.mcp_server import ServerEntry, faults_of
from helix_desktop.ui.field import Field
from helix_desktop.ui.settings.mcp_words import (
    breakable,
    cost_text,
    draft_of,
    error_text,
    pairs_text,
    reach_of,
    state_text,
)
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import IconLabel, PushButton, column, empty_layout, label, retint, row

_PAIRS_PX = 62
_FACES = {
    "ok": ("circle-check", "ok"),
    "failed": ("circle-x", "error"),
    "running": ("loader-circle", "muted"),
}


class TestLine(QWidget):
    """How a test goes, or what is wrong: an icon and words."""

    __test__ = False  # no test class, whatever its name

    def __init__(self) -> None:
        """Start hidden."""
        super().__init__()
        self._face, self._words = IconLabel("circle-check", px=15), label("", "note", wrap=True)
        parts = row(self._face, self._words, gap=8)
        parts.setStretch(1, 1)
        self.setLayout(parts)
        self.hide()

    def say(self, state: str, text: str) -> None:
        """Show a state (ok, failed or running) with words; without words nothing."""
        self._face.show_icon(*_FACES[state])
        self._words.setText(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))

    def text(self) -> str:
        """What it says."""
        return self._words.text()

    def show_report(self, report: ServerReport) -> None:
        """Show how a test ended."""
        if report.state == "ready":
            parts = (report.server or "It answers", cost_text(report))
            self.say("ok", " · ".join(part for part in parts if part))
        else:
            self.say("failed", report.why or f"{state_text(report)}.")


class ServerForm(QWidget):
    """The fields of a server. What is secret is never filled in: an empty field keeps what is kept."""

    edited = Signal()

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self._theme = LIGHT
        self.keeping = ""
        """Where secrets are kept, in words."""
        self._name, self._reach, self._cwd = QLineEdit(), QLineEdit(), QLineEdit()
        self._pairs = QPlainTextEdit()
        self._pairs.setTabChangesFocus(True)
        self._pairs.setFixedHeight(_PAIRS_PX)
        self._pairs.setPlaceholderText("NAME=value, one per line")
        self._cwd.setPlaceholderText("The workspace’s folder")
        self._secrets: dict[str, QLineEdit] = {}
        self._rows = QVBoxLayout()
        self._rows.setSpacing(8)
        self._fields = {
            "name": Field("Name", self._name),
            "reach": Field("Command or URL", self._reach),
            "cwd": Field("Folder", self._cwd),
            "env": Field(
                "Variables or headers", self._pairs,
                note="Names like API_KEY or TOKEN are kept as secrets, not in a file.",
            ),
        }  # fmt: skip
        for one in (self._name, self._reach, self._cwd):
            one.textEdited.connect(lambda _: self.edited.emit())
        self._pairs.textChanged.connect(self.edited)
        self.setLayout(column(*self._fields.values(), self._rows, gap=8))

    def show_draft(self, draft: Draft, missing: tuple[str, ...] = ()) -> None:
        """Fill the fields; secrets that are `missing` have no value kept."""
        entry = draft.entry
        self._pairs.blockSignals(True)
        self._name.setText(entry.name)
        self._reach.setText(reach_of(entry))
        self._reach.setCursorPosition(0)
        self._cwd.setText(entry.cwd)
        self._fields["cwd"].setVisible(not entry.url)
        self._pairs.setPlainText(pairs_text(entry))
        self._pairs.blockSignals(False)
        empty_layout(self._rows)
        self._secrets = {}
        for name in entry.secrets:
            self._add_secret(name, draft.secrets.get(name, ""), name in missing)
        for field in self._fields.values():
            field.show_fault("")
        retint(self, self._theme)

    def _add_secret(self, name: str, value: str, missing: bool) -> None:
        entry = QLineEdit(value)
        entry.setEchoMode(QLineEdit.EchoMode.Password)
        entry.setPlaceholderText("Not known: enter it" if missing else "Kept; type to replace it")
        entry.textEdited.connect(lambda _: self.edited.emit())
        self._secrets[name] = entry
        entry.setAccessibleName(name)
        self._rows.addWidget(Field(breakable(name), entry, note=self.keeping))

    def draft(self, taken: tuple[str, ...] = ()) -> Draft | None:
        """What is filled in; None when something is wrong, which is then marked."""
        try:
            secrets = {name: entry.text().strip() for name, entry in self._secrets.items()}
            found = draft_of(
                self._name.text(), self._reach.text(), self._cwd.text(), self._pairs.toPlainText(), secrets
            )
        except InputUnusable as error:
            self._fields["reach"].show_fault(error_text(error))
            return None
        faults = faults_of(found.entry, taken)
        faults["env"] = faults.get("env", "") or faults.get("headers", "")
        for name, field in self._fields.items():
            field.show_fault(faults.get(name, ""))
        return None if any(faults.values()) else found

    def faults(self) -> dict[str, str]:
        """What is marked as wrong: field and words."""
        return {name: field.fault() for name, field in self._fields.items() if field.fault()}

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme for fields that come later."""
        self._theme = theme


class Editing(QWidget):
    """A form with its buttons: test, save, cancel."""

    saved = Signal(object)
    """The Draft."""
    test_requested = Signal(object)
    cancelled = Signal()

    def __init__(self, save: str) -> None:
        """`save` are the words of its chief button."""
        super().__init__()
        self.form, self.line = ServerForm(), TestLine()
        self.taken: tuple[str, ...] = ()
        cancel, self.test = PushButton("Cancel"), PushButton("Test", "", "zap")
        self.save = PushButton(save, "primary")
        cancel.clicked.connect(self.cancelled)
        self.test.clicked.connect(lambda: self._send(self.test_requested))
        self.save.clicked.connect(lambda: self._send(self.saved))
        self.form.edited.connect(lambda: self.line.say("ok", ""))
        self.setLayout(column(self.form, self.line, row(None, cancel, self.test, self.save), gap=10))

    def begin(self, entry: ServerEntry, secrets: dict[str, str], missing: tuple[str, ...]) -> None:
        """Fill the form anew."""
        self.form.show_draft(Draft(entry, secrets), missing)
        self.line.say("ok", "")
        self.testing(False)

    def _send(self, signal: object) -> None:
        draft = self.form.draft(self.taken)
        if draft is not None:
            signal.emit(draft)  # type: ignore[attr-defined]  # a bound signal has no type of its own

    def testing(self, on: bool) -> None:
        """A test runs, or has ended."""
        self.test.setEnabled(not on)
        if on:
            self.line.say("running", "Starting it once…")

    def show_test(self, report: ServerReport) -> None:
        """Show how a test ended."""
        self.testing(False)
        self.line.show_report(report)
