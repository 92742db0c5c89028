"""The fields of one MCP server: how it is reached, what it is given, its secrets."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.mcp_server import McpServerConfig, validate_server
from helix_desktop.services.mcp_config import McpServerStatus, ServerDraft
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import clear_layout, column, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.kit.forms import FieldRow
from helix_desktop.ui.settings.mcp.texts import (
    endpoint_text,
    parse_draft,
    parse_variables,
    secret_values_text,
    state_text,
    tools_cost_text,
    variables_text,
    with_break_points,
)
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: MCP")

_PAIRS_PX = 62
_STATE_ICONS = {
    "ok": ("circle-check", "ok"),
    "failed": ("circle-x", "error"),
    "running": ("loader-circle", "muted"),
}


class TestStatus(QWidget):
    """How a test goes, or what is wrong: an icon and words."""

    __test__ = False  # no test class, whatever its name

    def __init__(self) -> None:
        """Start hidden."""
        super().__init__()
        self._icon, self._message = IconLabel("circle-check", px=15), label("", "note", wrap=True)
        parts = row(self._icon, self._message, gap=8)
        parts.setStretch(1, 1)
        self.setLayout(parts)
        self.hide()

    def show_status(self, state: str, text: str) -> None:
        """Show a state (ok, failed or running) with words; without words nothing."""
        self._icon.show_icon(*_STATE_ICONS[state])
        self._message.setText(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))

    def text(self) -> str:
        """Return what it says."""
        return self._message.text()

    def show_report(self, report: McpServerStatus) -> None:
        """Show how a test ended."""
        if report.state == "ready":
            parts = (report.reported_name or tr("Connected"), tools_cost_text(report))
            self.show_status("ok", " · ".join(part for part in parts if part))
        else:
            self.show_status("failed", translate(report.why) or state_text(report))


class ServerForm(Themed, QWidget):
    """The fields of a server. What is secret is never filled in: an empty field keeps what is kept."""

    edited = Signal()

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self._secret_storage = ""
        self._name, self._endpoint, self._cwd = QLineEdit(), QLineEdit(), QLineEdit()
        self._variables = TextArea()
        self._variables.setTabChangesFocus(True)
        self._variables.setFixedHeight(_PAIRS_PX)
        self._variables.setPlaceholderText(tr("NAME=value, one per line"))
        self._cwd.setPlaceholderText(tr("Workspace folder"))
        self._secrets: dict[str, QLineEdit] = {}
        self._secret_fields: list[FieldRow] = []
        self._missing: tuple[str, ...] = ()
        self._rows = QVBoxLayout()
        self._rows.setSpacing(8)
        self._fields = {
            "name": FieldRow(tr("Name"), self._name, room=1),
            "reach": FieldRow(tr("Command or URL"), self._endpoint, room=1),
            "cwd": FieldRow(tr("Folder"), self._cwd, room=1),
            "env": FieldRow(
                tr("Variables or headers"), self._variables,
                note=secret_values_text(""), room=2,
            ),
        }  # fmt: skip
        for name, line in (("name", self._name), ("reach", self._endpoint), ("cwd", self._cwd)):
            line.textEdited.connect(lambda _, name=name: self._on_edited(name))
        self._variables.textChanged.connect(lambda: self._on_edited("env"))
        self.setLayout(column(*self._fields.values(), self._rows, gap=8))

    def show_secret_storage(self, text: str) -> None:
        """Say where secrets are kept, before they are."""
        if text == self._secret_storage:
            return
        self._secret_storage = text
        self._fields["env"].show_note(secret_values_text(text))
        for field in self._secret_fields:
            field.show_note(text)

    def focus_missing_secret(self) -> None:
        """Give the keyboard to the first secret that has no value; else to the first."""
        fields = list(self._secrets.values())
        missing = [field for name, field in self._secrets.items() if name in self._missing]
        for field in (missing or fields)[:1]:
            field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_edited(self, name: str) -> None:
        """Take back what was wrong with a field."""
        self._fields[name].show_error("")
        self.edited.emit()

    def show_draft(self, draft: ServerDraft, missing: tuple[str, ...] = ()) -> None:
        """Fill the fields; secrets that are `missing` have no value kept."""
        config = draft.config
        self._variables.blockSignals(True)
        self._name.setText(config.name)
        self._endpoint.setText(endpoint_text(config))
        self._endpoint.setCursorPosition(0)
        self._cwd.setText(config.cwd)
        self._fields["cwd"].setVisible(not config.url)
        self._variables.setPlainText(variables_text(config))
        self._variables.blockSignals(False)
        clear_layout(self._rows)
        self._secrets, self._secret_fields, self._missing = {}, [], missing
        for name in config.secret_names:
            self._add_secret(name, draft.secrets.get(name, ""), name in missing)
        for field in self._fields.values():
            field.show_error("")
        retint(self, self._theme)

    def _add_secret(self, name: str, value: str, missing: bool) -> None:
        field = QLineEdit(value)
        field.setEchoMode(QLineEdit.EchoMode.Password)
        field.setPlaceholderText(tr("Enter value") if missing else tr("Saved. Type to replace it."))
        field.textEdited.connect(lambda _: self.edited.emit())
        self._secrets[name] = field
        field.setAccessibleName(name)
        form_field = FieldRow(with_break_points(name), field, note=self._secret_storage, room=1)
        self._secret_fields.append(form_field)
        self._rows.addWidget(form_field)

    def draft(self, used_names: tuple[str, ...] = ()) -> ServerDraft | None:
        """Return what is filled in; None when something is wrong, which is then marked."""
        try:
            variables = parse_variables(self._variables.toPlainText())
            self._fields["env"].show_error("")
        except InvalidInput as error:
            self._fields["env"].show_error(error_text(error))
            return None
        try:
            secrets = {name: field.text().strip() for name, field in self._secrets.items()}
            parsed = parse_draft(
                self._name.text(),
                self._endpoint.text(),
                self._cwd.text(),
                variables,
                secrets,
            )
        except InvalidInput as error:
            self._fields["reach"].show_error(error_text(error))
            return None
        faults = validate_server(parsed.config, used_names)
        faults["env"] = faults.get("env", "") or faults.get("headers", "")
        for name, field in self._fields.items():
            field.show_error(translate(faults.get(name, "")))
        return None if any(faults.values()) else parsed

    def errors(self) -> dict[str, str]:
        """Return what is marked as wrong: field and words."""
        return {name: field.error_text() for name, field in self._fields.items() if field.error_text()}


class ServerEditor(QWidget):
    """A form with its buttons: test, save, cancel."""

    saved = Signal(object)
    """The Draft."""
    test_requested = Signal(object)
    test_stopped = Signal()
    canceled = Signal()

    def __init__(self, save_text: str) -> None:
        """`save` are the words of its chief button."""
        super().__init__()
        self.form, self.status = ServerForm(), TestStatus()
        self.used_names: tuple[str, ...] = ()
        self._is_testing = False
        self.has_edits = False
        """Whether the user changed something since it was filled."""
        cancel, self.test = (
            PushButton(tr("Cancel"), name="cancel"),
            PushButton(tr("Test", "verb: button"), "", "zap", name="test_server"),
        )
        self.save = PushButton(save_text, "primary", name="save_server")
        cancel.clicked.connect(self.canceled)
        self.test.clicked.connect(self._request_test)
        self.save.clicked.connect(lambda: self._emit_draft(self.saved))
        self.form.edited.connect(self._on_edited)
        self.setLayout(
            column(self.form, self.status, FlowBox([cancel, self.test, self.save], right_from=0), gap=10)
        )

    def edit(self, config: McpServerConfig, secrets: dict[str, str], missing: tuple[str, ...]) -> None:
        """Fill the form from a server's configuration."""
        self.form.show_draft(ServerDraft(config, secrets), missing)
        self.has_edits = False
        if self._is_testing:
            self._stop_test()
        self.status.show_status("ok", "")

    def _on_edited(self) -> None:
        self.has_edits = True
        self.status.show_status("ok", "")

    def _emit_draft(self, signal: object) -> None:
        draft = self.form.draft(self.used_names)
        if draft is not None:
            signal.emit(draft)  # type: ignore[attr-defined]  # a bound signal has no type of its own

    def _request_test(self) -> None:
        """Test, or stop the test that runs: one button, so that the keyboard stays at it."""
        if self._is_testing:
            self._stop_test()
        else:
            self._emit_draft(self.test_requested)

    def _stop_test(self) -> None:
        self._set_testing(False)
        self.status.show_status("ok", "")
        self.test_stopped.emit()

    def _set_testing(self, is_testing: bool) -> None:
        self._is_testing = is_testing
        self.test.setText(tr("Stop test") if is_testing else tr("Test", "verb: button"))

    def show_testing(self, limit_s: float, *, may_download: bool) -> None:
        """Show that a test runs, for at most so many seconds."""
        self._set_testing(True)
        seconds = round(limit_s)
        words = (
            tr("Testing, for at most {seconds} s: the first start may download the server.", seconds=seconds)
            if may_download
            else tr("Testing, for at most {seconds} s.", seconds=seconds)
        )
        self.status.show_status("running", words)

    def show_test(self, report: McpServerStatus) -> None:
        """Show how a test ended."""
        self._set_testing(False)
        self.status.show_report(report)

    def show_test_problem(self, text: str) -> None:
        """Show why there was no test."""
        self._set_testing(False)
        self.status.show_status("failed", text)
