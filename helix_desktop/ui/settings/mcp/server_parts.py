"""What opens below an MCP server: its tools, and what it said last."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from helix_desktop.services.mcp_config import McpToolStatus
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.fields import SearchField
from helix_desktop.ui.design.labels import ElidedLabel, IconLabel, label
from helix_desktop.ui.design.layout.boxes import clear_layout, column, row
from helix_desktop.ui.design.style.fonts import ui_font
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed, retint, set_style_sheet
from helix_desktop.ui.settings.mcp.texts import token_count_tip
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.translation import Translator, current_language, translate

tr = Translator("Settings: MCP")

_MIN_SEARCHABLE = 12  # tools from which on there is a field to look for one
_LOG_PX, _TOOL_SWITCH_PX, _COST_PX = 170, 38, 50


class ToolList(Themed, QWidget):
    """Every tool on a line of its own; those that cannot be exposed say why."""

    def __init__(self, use_without: Callable[[list[str]], object]) -> None:
        """`use_without` gets the tools that are off once the user has switched one."""
        super().__init__()
        self._use_without = use_without
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
        self._use_without(sorted(off if is_enabled else off | {tool}))

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
