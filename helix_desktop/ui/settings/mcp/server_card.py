"""One MCP server as a card: how it is doing and why, its tools, its log, its fields."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent, QTextCursor
from PySide6.QtWidgets import QApplication, QFrame, QPlainTextEdit, QVBoxLayout, QWidget

from helix_desktop.services.mcp_config import McpServerStatus, McpToolStatus
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.fields import SearchField
from helix_desktop.ui.design.labels import ElidedLabel, IconLabel, label, show_text
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.pill import Dot
from helix_desktop.ui.design.style.fonts import ui_font
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed, retint, set_style_sheet
from helix_desktop.ui.settings.mcp.server_form import ServerEditor
from helix_desktop.ui.settings.mcp.texts import (
    STATE_COLORS,
    consent_reason_text,
    consent_text,
    start_files_text,
    state_text,
    token_count_tip,
    tools_cost_text,
)
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.translation import Translator, current_language, translate

tr = Translator("Settings: MCP")

_SWITCH_PX = 40
_LINK_PX = 12  # a link's own margin, by which a row of them is moved out

_MIN_SEARCHABLE = 12  # tools from which on there is a field to look for one
_LOG_PX, _TOOL_SWITCH_PX, _COST_PX = 170, 38, 50


class ToolList(Themed, QWidget):
    """Every tool on a line of its own; those that cannot be exposed say why."""

    switched = Signal(list)
    """The tools that are off now."""

    def __init__(self) -> None:
        super().__init__()
        self._tools: tuple[McpToolStatus, ...] = ()
        self._lines: dict[str, QWidget] = {}
        self._search = SearchField(tr("Filter tools"))
        self._search.textChanged.connect(self._filter)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(2)
        self.setLayout(column(self._search, self._rows, gap=6))

    def show_tools(self, tools: tuple[McpToolStatus, ...]) -> None:
        """Show these tools; nothing is rebuilt while they stay the same."""
        if tools == self._tools:
            return
        self._tools = tools
        self._search.setVisible(len(tools) >= _MIN_SEARCHABLE)
        clear_layout(self._rows)
        by_name = sorted(tools, key=lambda tool: current_language().sort_key(tool.tool))
        self._lines = {tool.tool: self._line(tool) for tool in by_name}
        for line in self._lines.values():
            self._rows.addWidget(line)
        self._filter(self._search.text())
        retint(self, self._theme)

    def _line(self, status: McpToolStatus) -> QWidget:
        switch = Switch("", on=status.is_enabled and not status.refusal)
        switch.setAccessibleName(status.tool)
        switch.setEnabled(not status.refusal)
        switch.setFixedWidth(_TOOL_SWITCH_PX)
        switch.toggled.connect(lambda on, tool=status.tool: self._switch(tool, on))
        note = ElidedLabel(
            translate(status.refusal) or status.description.replace("\n", " "),
            "warn" if status.refusal else "faint",
        )
        note.setToolTip(status.description)
        name = ElidedLabel(status.tool)
        parts = row(switch, name, note, gap=10, margins=(0, 1, 0, 1))
        parts.setStretch(1, 2)
        parts.setStretch(2, 3)
        reads = IconLabel(
            "eye" if status.is_read_only else "circle",
            px=14,
            color_token="faint" if status.is_read_only else "surface",
        )
        read_only = tr("Read-only, according to the server: the agent can ask to use it in Plan mode, too.")
        reads.setToolTip(read_only if status.is_read_only else "")
        reads.setAccessibleName(reads.toolTip())
        cost = label(tr("hidden") if status.refusal else format_tokens(status.tokens), "faint")
        cost.setMinimumWidth(_COST_PX)
        cost.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        cost.setToolTip(tr("Hidden from the model") if status.refusal else token_count_tip())
        parts.addWidget(reads)
        parts.addWidget(cost)
        line = QWidget()
        line.setLayout(parts)
        return line

    def _switch(self, tool: str, is_enabled: bool) -> None:
        off = {status.tool for status in self._tools if not status.is_enabled} - {tool}
        self.switched.emit(sorted(off if is_enabled else off | {tool}))

    def _filter(self, query: str) -> None:
        words = query.casefold().split()
        for tool in self._tools:
            text = f"{tool.tool} {tool.description}".casefold()
            self._lines[tool.tool].setVisible(all(word in text for word in words))


class LogView(Themed, QPlainTextEdit):
    """What a server said last; it follows the end unless somebody has scrolled up."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setFixedHeight(_LOG_PX)
        self.setAccessibleName(tr("Log output"))
        self.setPlaceholderText(tr("No log output"))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)

    def show_log(self, text: str) -> None:
        if text == self.toPlainText():
            return
        bar = self.verticalScrollBar()
        before, following = bar.value(), bar.value() >= bar.maximum() - 1
        self.setPlainText(text)
        if following:
            self.moveCursor(QTextCursor.MoveOperation.End)
            self.moveCursor(QTextCursor.MoveOperation.StartOfLine)
        else:
            bar.setValue(before)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def tint(self, theme: Theme) -> None:
        self.setFont(ui_font(12, is_code=True))
        set_style_sheet(
            self,
            f"QPlainTextEdit, QPlainTextEdit:focus {{ background: {theme.code_surface}; color: {theme.text};"
            f" border: 1px solid {theme.border}; border-radius: 8px; padding: 6px 8px; }}",
        )


class DisclosureButton(PushButton):
    def __init__(self, text: str, part: QWidget) -> None:
        super().__init__(text, "link", "chevron-right", px=13)
        self.setCheckable(True)
        part.hide()
        self.toggled.connect(part.setVisible)
        self.toggled.connect(self._show_state)

    def _show_state(self, is_open: bool) -> None:
        self._icon_name = "chevron-down" if is_open else "chevron-right"
        self.tint(self._theme)


class ServerCard(QFrame):
    """A server. What is open in it stays open while its report changes."""

    consent_given = Signal(str, str)
    """Name, and the fingerprint that was shown."""
    switched = Signal(str, bool)
    restart_requested = Signal(str)
    remove_requested = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.setProperty("role", "card")
        self.setAccessibleName(tr("MCP server {name}", name=name))
        self._report: McpServerStatus | None = None
        self._dot, self._state = Dot("faint", px=8), ElidedLabel("", "note")
        self._cost, self._endpoint = label("", "faint"), ElidedLabel("", "mono")
        self._enabled_switch = Switch("")
        self._enabled_switch.setAccessibleName(tr("Use {name}", name=name))
        self._enabled_switch.setFixedWidth(_SWITCH_PX)
        self._enabled_switch.toggled.connect(lambda on: self.switched.emit(name, on))
        self._reason = label("", "error", wrap=True)
        self._consent_summary, self._consent_details = (
            label("", "note", wrap=True),
            label("", "mono", wrap=True),
        )
        self._consent_reason = label("", "warn", wrap=True)
        self._consent_files = label("", "note", wrap=True)
        self._consent = self._consent_box()
        self.tools, self.log, self.editor = ToolList(), LogView(), ServerEditor(tr("Save and start"))
        self._toggles = {
            "tools": self._toggle(tr("Tools"), tr("Tools of {name}", name=name), self.tools),
            "log": self._toggle(tr("Log", "noun"), tr("Log of {name}", name=name), self.log),
            "edit": self._toggle(tr("Edit"), tr("Edit {name}", name=name), self.editor),
        }
        self._restart, remove = (
            PushButton(tr("Restart"), "link", name="restart"),
            PushButton(tr("Remove"), "link", name="remove"),
        )
        self._restart.clicked.connect(lambda: self.restart_requested.emit(name))
        remove.clicked.connect(lambda: self.remove_requested.emit(name))
        self.editor.canceled.connect(self.end_editing)
        head = row(self._dot, label(name, "strong"), self._state, self._enabled_switch, gap=9)
        head.setStretch(2, 1)
        links = row(*self._toggles.values(), self._restart, remove, None, margins=(-_LINK_PX, 0, 0, 0), gap=2)
        self.setLayout(
            column(
                head, self._endpoint, self._cost, self._reason, self._consent, links, self.tools, self.log,
                self.editor, margins=(16, 12, 12, 10), gap=7,
            )
        )  # fmt: skip

    def _consent_box(self) -> QFrame:
        allow = PushButton(tr("Allow and start"), name="allow")
        allow.clicked.connect(self._give_consent)
        box = card(
            column(
                self._consent_reason,
                self._consent_summary,
                self._consent_details,
                self._consent_files,
                row(allow, None),
                margins=(12, 9, 12, 10),
            ),
            "well",
        )
        box.hide()
        return box

    def _give_consent(self) -> None:
        if self._report is not None:
            self.consent_given.emit(self.name, self._report.config.fingerprint)

    def _toggle(self, text: str, accessible_name: str, part: QWidget) -> DisclosureButton:
        button = DisclosureButton(text, part)
        button.setAccessibleName(accessible_name)
        if part is self.editor:
            button.toggled.connect(lambda on: self._start_editing() if on else None)
        return button

    def end_editing(self) -> None:
        """Close the fields: what is in them is saved, or not wanted."""
        self.editor.has_edits = False
        focused = QApplication.focusWidget()
        if focused is not None and self.editor.isAncestorOf(focused):
            self._toggles["edit"].setFocus(Qt.FocusReason.OtherFocusReason)  # not the next server's switch
        self._toggles["edit"].setChecked(False)

    def _start_editing(self) -> None:
        if self._report is not None and not self.editor.has_edits:
            self.editor.edit(self._report.config, {}, self._report.missing_secrets)

    def show_report(self, report: McpServerStatus, folder: str, used_names: tuple[str, ...]) -> None:
        """Show how the server is doing; `used_names` are the other servers' names."""
        self._report, self.editor.used_names = report, used_names
        self._dot.set_color_token(STATE_COLORS[report.state])
        reported_name = report.reported_name if report.state == "ready" else ""
        self._state.set_full_text(" · ".join(part for part in (state_text(report), reported_name) if part))
        show_text(self._cost, tools_cost_text(report))
        self._cost.setToolTip(token_count_tip())
        self._endpoint.set_full_text(report.config.target_line)
        self._endpoint.setVisible(report.state != "unapproved")  # what is agreed to says it in full
        self._enabled_switch.blockSignals(True)
        self._enabled_switch.setChecked(report.config.enabled)
        self._enabled_switch.blockSignals(False)
        self._enabled_switch.update()
        failed = report.state in ("failed", "waiting") and report.why
        self._reason.setText(translate(report.why) if failed else "")
        self._reason.setVisible(bool(failed))
        self._consent.setVisible(report.state == "unapproved")
        sentence, exactly = consent_text(report.config, folder)
        self._consent_summary.setText(sentence)
        self._consent_details.setText(exactly)
        self._consent_reason.setText(consent_reason_text(report.config))
        show_text(self._consent_files, start_files_text(report.start_files))
        self.tools.show_tools(report.tools)
        self.log.show_log(report.log)
        self._toggles["tools"].setText(
            tr.plural(len(report.tools), "%n tool", "%n tools") if report.tools else tr("Tools")
        )
        self._toggles["tools"].setVisible(bool(report.tools))
        self._restart.setVisible(report.state in ("ready", "failed", "starting", "waiting"))
        self._restart.setText(tr("Start now") if report.state == "failed" else tr("Restart"))

    def enter_secret(self) -> None:
        """Open the fields, with the keyboard in the first secret that has no value."""
        self._toggles["edit"].setChecked(True)
        self.editor.form.focus_missing_secret()

    def open_tools(self) -> None:
        """Open the list of tools, with the keyboard at what closes it."""
        self._toggles["tools"].setChecked(True)
        self._toggles["tools"].setFocus(Qt.FocusReason.OtherFocusReason)

    def is_open(self, part: str) -> bool:
        """Return True if its tools, log or fields are open."""
        return self._toggles[part].isChecked()
