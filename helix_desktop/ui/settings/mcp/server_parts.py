"""Parts of a server's row: its tools, secrets, what it said last, and its report as text."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent, QTextCursor
from PySide6.QtWidgets import QAccessibleWidget, QLineEdit, QPlainTextEdit, QWidget

from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.services.mcp_config import McpServerStatus, McpToolStatus
from helix_desktop.ui.design.accessibility import DisclosureInterface
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.focus import has_keyboard
from helix_desktop.ui.design.labels import ElidedLabel, IconLabel, label
from helix_desktop.ui.design.layout import clear_layout, column, pane, row
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.kit.forms import Form, Line, Values
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.translation import Translator, current_language, translate

tr = Translator("Settings: MCP")
text = TextContext("Settings: MCP")

_NAMED_FILES = 4

STATES = {
    "ready": (text("Ready"), "ok"),
    "starting": (text("Starting…"), "accent"),
    "waiting": (text("Waiting to start"), "accent"),
    "failed": (text("Failed"), "error"),
    "off": (text("Off"), "faint"),
    "unapproved": (text("Needs your approval"), "warn"),
    "signed_out": (text("Sign-in needed"), "warn"),
    "untrusted": (text("Folder not trusted"), "warn"),
}
"""The words for a server's state, and the color of its dot."""


def state_text(report: McpServerStatus) -> str:
    if report.state == "waiting" and report.why:
        return tr("Restarting…")
    if report.state == "failed" and report.retry_in_s:
        return tr("Failed · retrying within {seconds} s", seconds=f"{report.retry_in_s:g}")
    return translate(STATES[report.state][0])


def tools_cost_text(report: McpServerStatus) -> str:
    """Return how many tools the model sees, and what they cost; empty when nothing is known of them."""
    if not report.tools:
        return tr("no tools") if report.state == "ready" else ""
    exposed = len(report.exposed_tools)
    total = len(report.tools)
    tools = tr.plural(total, "%n tool", "%n tools")
    if exposed < total:
        tools = tr.plural(total, "{exposed} of %n tool", "{exposed} of %n tools", exposed=exposed)
    return f"{tools} · {_tokens_text(report.tokens, report.defers_tools)}"


def servers_total_text(reports: tuple[McpServerStatus, ...]) -> str:
    exposed = sum(len(report.exposed_tools) for report in reports)
    tokens = sum(report.tokens for report in reports)
    if not exposed:
        return ""
    defers_tools = any(report.defers_tools for report in reports)
    return f"{tr.plural(exposed, '%n tool', '%n tools')} · {_tokens_text(tokens, defers_tools)}"


def _tokens_text(tokens: int, defers_tools: bool) -> str:
    """Return what tools cost; with `defers_tools` the agent looks up the rest of what it needs."""
    if defers_tools:
        return tr("only names in requests, ≈ {tokens} tokens in each", tokens=format_tokens(tokens))
    return tr("≈ {tokens} tokens in each request", tokens=format_tokens(tokens))


def token_count_tip() -> str:
    return tr("Counted by Helix. The context panel shows the count that the model of the session reports.")


def consent_text(config: McpServerConfig, folder: str) -> tuple[str, str]:
    """Return what the user is to agree to: in a sentence, and exactly."""
    pairs, secret = (config.headers, config.secret_headers) if config.url else (config.env, config.secret_env)
    variables = [f"{key}={value}" for key, value in pairs.items()]
    variables += [f"{key}=•••" for key in secret]
    summary = tr("Starts in {folder}, with your rights and outside the sandbox:", folder=config.cwd or folder)
    if config.url:
        summary = tr("Connects to this address with these headers:") if variables else tr("Connects to:")
    return summary, "\n".join([config.target_line, *variables])


def consent_reason_text(config: McpServerConfig) -> str:
    if not config.consent_changes:
        return tr("This configuration hasn't been approved.")
    files = tuple(map(escape_invisible, config.consent_changes[:_NAMED_FILES]))
    more = len(config.consent_changes) - len(files)
    changed = tr("Files that it runs have changed since you approved it: {files}.", files=files)
    return join_sentences(changed, tr.plural(more, "%n more.", "%n more.") if more else "")


def start_files_text(start_files: tuple[str, ...]) -> str:
    """Return what a server runs of the workspace, and what ends the consent; empty if it is nothing."""
    if not start_files:
        return ""
    files = [escape_invisible(path) for path in start_files if not path.endswith("/")]
    folders = [path for path in start_files if path.endswith("/")]
    names = [tr("the workspace") if path == "./" else escape_invisible(path) for path in folders]
    ends = tr("You're asked again when such a file changes.")
    if folders:
        ends = tr.plural(
            len(folders),
            "You're asked again when such a file changes, or the agent changes anything in {folders}.",
            "You're asked again when such a file changes, or the agent changes anything in one of %n "
            "folders: {folders}.",
            folders=tuple(names[:_NAMED_FILES]),
        )
    runs = tr("Of the workspace it runs {files}.", files=tuple(files[:_NAMED_FILES])) if files else ""
    return join_sentences(runs, ends)


_MIN_SEARCHABLE = 12  # tools from which on there is a field to look for one
_LOG_PX = 170
_TOOL_SWITCH_PX = 38
_COST_PX = 50


class ToolList(QWidget):
    """Every tool on a line of its own; those that cannot be exposed say why."""

    def __init__(self, use_without: Callable[[list[str]], object]) -> None:
        """`use_without` gets the tools that are off once the user has switched one."""
        super().__init__()
        self._use_without = use_without
        self._tools: tuple[McpToolStatus, ...] = ()
        self._lines: dict[str, QWidget] = {}
        self._search = SearchField(tr("Filter tools"))
        self._search.textChanged.connect(self._filter)
        self._rows = column(gap=2)
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

    def _line(self, status: McpToolStatus) -> QWidget:
        switch = Switch("", on=status.is_enabled and not status.refusal, words=status.tool)
        switch.setEnabled(not status.refusal)
        switch.setFixedWidth(_TOOL_SWITCH_PX)
        switch.toggled.connect(lambda on, tool=status.tool: self._switch(tool, on))
        words = translate(status.refusal) or status.description.replace("\n", " ")
        note = ElidedLabel(words, "warn" if status.refusal else "faint")
        note.setToolTip(status.description)
        name = ElidedLabel(status.tool)
        parts = row(switch, name, note, gap=10, margins=(0, 1, 0, 1))
        parts.setStretch(1, 2)
        parts.setStretch(2, 3)
        sign = "circle"
        color = "surface"
        tip = ""
        if status.is_read_only:
            sign = "eye"
            color = "faint"
            tip = tr("Read-only, according to the server: the agent can ask to use it in Plan mode, too.")
        reads = IconLabel(sign, px=14, color_token=color)
        reads.setToolTip(tip)
        reads.setAccessibleName(tip)
        cost = label(tr("hidden") if status.refusal else format_tokens(status.tokens), "faint")
        cost.setMinimumWidth(_COST_PX)
        cost.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        cost.setToolTip(tr("Hidden from the model") if status.refusal else token_count_tip())
        parts.addWidget(reads)
        parts.addWidget(cost)
        return pane(parts)

    def _switch(self, tool: str, is_enabled: bool) -> None:
        off = {status.tool for status in self._tools if not status.is_enabled} - {tool}
        self._use_without(sorted(off if is_enabled else off | {tool}))

    def _filter(self, query: str) -> None:
        words = query.casefold().split()
        for tool in self._tools:
            text = f"{tool.tool} {tool.description}".casefold()
            self._lines[tool.tool].setVisible(all(word in text for word in words))


class LogView(QPlainTextEdit):
    """What a server said last; it follows the end unless somebody has scrolled up."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setFixedHeight(_LOG_PX)
        self.setAccessibleName(tr("Log output"))
        self.setPlaceholderText(tr("No log output"))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setProperty("kind", "log")

    def show_log(self, text: str) -> None:
        if text == self.toPlainText():
            return
        bar = self.verticalScrollBar()
        before = bar.value()
        following = bar.value() >= bar.maximum() - 1
        self.setPlainText(text)
        if following:
            self.moveCursor(QTextCursor.MoveOperation.End)
            self.moveCursor(QTextCursor.MoveOperation.StartOfLine)
        else:
            bar.setValue(before)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())


class DisclosureButton(PushButton):
    def __init__(self, text: str, part: QWidget, words: str = "") -> None:
        super().__init__(text, "link", "chevron-right", px=13, words=words)
        self.setCheckable(True)
        part.hide()
        self.toggled.connect(part.setVisible)
        self.toggled.connect(lambda is_open: self.set_icon("chevron-down" if is_open else "chevron-right"))

    def make_accessible(self) -> QAccessibleWidget:
        return DisclosureInterface(self)


class SecretValues(Values):
    """Secrets by name: none is ever shown, and one that is typed is stored when its field is left."""

    def __init__(self, store: Callable[[str, str], object]) -> None:
        super().__init__()
        self._store = store

    def get(self, name: str) -> str:
        return ""

    def set(self, name: str, value: str) -> None:
        if value.strip():
            self._store(name, value.strip())
        self.changed.emit(name)


class SecretList(QWidget):
    """The secrets that a server names, each with a field for its value."""

    def __init__(self, store: Callable[[str, str], object]) -> None:
        """`store` gets the name of a secret and its value once the user has entered one."""
        super().__init__()
        self._store = store
        self._shown: tuple[object, ...] = ()
        self._missing: tuple[str, ...] = ()
        self._place = column()
        self.setLayout(self._place)
        self.form = Form((), SecretValues(store))
        self._place.addWidget(self.form)

    def show_secrets(self, names: tuple[str, ...], missing: tuple[str, ...], storage: str) -> None:
        """Show these secrets; nothing is rebuilt, and nothing typed is lost, while they stay the same."""
        if self._shown == (names, missing, storage):
            return
        self._shown = (names, missing, storage)
        self._missing = missing
        had_focus = has_keyboard(self)
        typed = {name: line.text() for name, line in self.lines().items()}
        clear_layout(self._place)
        fields = [_secret_line(name, storage, is_missing=name in missing) for name in names]
        self.form = Form(fields, SecretValues(self._store), gap=8)
        self._place.addWidget(self.form)
        for name, line in self.lines().items():
            line.setText(typed.get(name, ""))
        if had_focus:
            self.focus_first()

    def lines(self) -> dict[str, QLineEdit]:
        controls = self.form.controls.items()
        return {name: control for name, control in controls if isinstance(control, QLineEdit)}

    def focus_first(self) -> None:
        """Give the keyboard to the first secret that has no value; else to the first."""
        names = [name for name in self.form.fields if name in self._missing] or list(self.form.fields)
        for name in names[:1]:
            self.form.show_field(name)


def _secret_line(name: str, storage: str, *, is_missing: bool) -> Line:
    placeholder = text("Saved. Type to replace it.")
    if is_missing:
        is_header = name.lower() == "authorization"
        placeholder = text("Bearer TOKEN") if is_header else text("Enter value")
    label_text = name.replace("_", "_\u200b")
    return Line(name, label_text, storage, secret=True, room=1, placeholder=placeholder)
